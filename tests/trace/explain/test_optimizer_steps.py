"""Steps that move a parameter without a gradient or leave it as it is, and healthy ones."""

from __future__ import annotations

import pytest
import torch

from explorer.trace import run
from explorer.trace.recording.events import OptimizerUse
from tests.trace.explain.proved import proved

T = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
W = T + "w = torch.tensor([1.0, 2.0], requires_grad=True)\n"
FIT = (
    "for i in range(4):\n    opt.zero_grad()\n    loss = (w * w).sum()\n    loss.backward()\n"
    "    opt.step()\n"
)
SGD = "opt = torch.optim.SGD([w], lr=0.1)\n"
EPOCH = (
    T + "net = nn.Linear(2, 1)\nx = torch.ones(4, 2)\nfor epoch in range(3):\n"
    "    opt = torch.optim.Adam(net.parameters(), lr=0.1)\n    opt.zero_grad()\n"
    "    net(x).pow(2).mean().backward()\n    opt.step()\n"
)

#: Key, program, words, a part of the fix; None for one that a check confirms, "" for neither.
CAUSES: dict[str, tuple[str, str, list[str], str | None]] = {
    "weight decay without a gradient": (
        "optimizer.idle",
        W + "opt = torch.optim.SGD([w], lr=0.1, weight_decay=0.5)\n"
        + FIT.replace("w * w", "w * 0"),
        ["weight_decay = 0.5"],
        None,
    ),
    "momentum without a gradient": (
        "optimizer.idle",
        W + "opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)\nfor k in [1.0, 0.0]:\n"
        "    opt.zero_grad()\n    (k * w).sum().backward()\n    opt.step()\n    print(w.grad)\n",
        ["momentum = 0.9"],
        None,
    ),
    "momentum moves a pruned element": (
        "optimizer.idle",
        W + "opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)\nkeep = torch.tensor([0.0, 1.0])\n"
        "for i in range(2):\n    opt.zero_grad()\n    ((w if i == 0 else w * keep) ** 2).sum()"
        ".backward()\n    opt.step()\n    if i == 0:\n        with torch.no_grad():\n"
        "            w.mul_(keep)\n",
        ["w[0]", "momentum = 0.9"],
        None,
    ),
    "frozen, with its last gradient": (
        "optimizer.stale",
        W + "v = torch.ones(2, requires_grad=True)\nopt = torch.optim.SGD([w, v], lr=0.1)\n"
        "(w * v).sum().backward()\nopt.step()\nw.requires_grad = False\n"
        "v.grad = None\n(w * v).sum().backward()\nopt.step()\n",
        ["w does not require", "line 12"],
        "w.requires_grad = False\nw.grad = None",
    ),
    "a frozen model, with its last gradient": (
        "optimizer.stale",
        T + "net = nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 1))\nopt = torch.optim.SGD("
        "net.parameters(), lr=0.1)\nx = torch.ones(1, 2)\nnet(x).sum().backward()\nopt.step()\n"
        "net[0].requires_grad_(False)\nnet(x).sum().backward()\nopt.step()\n",
        ["net.0.weight"],
        "net[0].requires_grad_(False)\nnet[0].zero_grad()",
    ),
    "a learning rate of 0": (
        "optimizer.rate",
        W + SGD.replace("0.1", "0.0") + FIT,
        ["learning rate is 0"],
        "lr=0.01",
    ),
    "a learning rate that is too small": (
        "optimizer.rate",
        W.replace("[1.0, 2.0]", "[1000.0, 2000.0]") + SGD.replace("0.1", "1e-12") + FIT,
        ["4e-09", "float32"],
        "",
    ),
    "made in each epoch": (
        "optimizer.recreated",
        EPOCH,
        ["line 7", "3 times", "running means"],
        "opt = torch.optim.Adam(net.parameters(), lr=0.1)\nfor epoch",
    ),
    "too large a step": (
        "optimizer.diverges",
        W + SGD.replace("0.1", "1.1") + FIT,
        ["2 per unit", "1.1", "below 2 / 2 = 1"],
        "lr=0.5",
    ),
    "too large a step by hand": (
        "optimizer.diverges",
        W + "rate = 1.5\nfor i in range(4):\n    (w * w).sum().backward()\n"
        "    with torch.no_grad():\n        w -= rate * w.grad\n    w.grad = None\n",
        ["2 per unit"],
        "rate = 0.5",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_told_with_a_cure_that_works(name: str) -> None:
    key, program, words, fix = CAUSES[name]
    trace = proved(program)
    assert trace.error is None, trace.error
    answers = {answer.key: answer for answer in trace.answers}
    assert key in answers, list(answers)
    answer = answers[key]
    text = f"{answer.title} {answer.text} {answer.cure} line {answer.line}"
    for word in words:
        assert word.lower() in text.lower(), text
    assert bool(answer.fix) == bool(fix)
    assert not fix or fix in (answer.fix or ""), answer.fix
    assert bool(answer.tried) == (fix != "")


FINE = {
    "plain": W + SGD + FIT,
    "adapters that begin at 0": T + "A = nn.Parameter(torch.ones(2))\nB = nn.Parameter("
    "torch.zeros(2))\nopt = torch.optim.AdamW([A, B], lr=0.1)\n"
    + FIT.replace("(w * w).sum()", "((A * B).sum() - 1) ** 2"),
    "a margin that is kept": T + "net = nn.Linear(2, 1)\nopt = torch.optim.Adam(net.parameters())\n"
    + FIT.replace("(w * w).sum()", "torch.relu(1 - i - net(torch.ones(3, 2))).mean()"),
    "frozen and cleared": W + "v = torch.ones(2, requires_grad=True)\n"
    "opt = torch.optim.SGD([w, v], lr=0.1)\n(w * v).sum().backward()\nopt.step()\n"
    "opt.zero_grad()\nw.requires_grad = False\n(w * v).sum().backward()\nopt.step()\n",
    "a warm-up that begins at 0": W + SGD + "warm = torch.optim.lr_scheduler.LambdaLR(opt, "
    "lambda i: i / 10)\n" + FIT + "    warm.step()\n",
    "a new optimizer for each fold": EPOCH.replace("    opt =", "    net = nn.Linear(2, 1)\n"
                                                   "    opt =", 1),
    "a new optimizer without state": EPOCH.replace("Adam", "SGD"),
    "a step that converges": W + SGD.replace("0.1", "0.9") + FIT,
    "momentum with zero weights": W.replace("[1.0, 2.0]", "[0.0, 2.0]")
    + "opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)\n"
    + FIT.replace("(w * w).sum()", "((w - 1) ** 2).sum()"),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_a_healthy_program_gets_no_such_answer(name: str) -> None:
    trace = proved(FINE[name])
    assert trace.error is None, trace.error
    assert [a.key for a in trace.answers if a.key.startswith("optimizer.")] == []


def test_running_means_are_read_only_where_a_small_gradient_is_0(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reading them all took as long as a step, in every step."""
    read: list[tuple[int, ...]] = []
    remembers = OptimizerUse.remembers

    def counted(use: OptimizerUse, parameter: torch.Tensor) -> bool:
        read.append(tuple(parameter.shape))
        return remembers(use, parameter)

    monkeypatch.setattr(OptimizerUse, "remembers", counted)
    run(
        T + "net = nn.Linear(200, 50)\nw, v = torch.ones(2, requires_grad=True), "
        "torch.ones(3, requires_grad=True)\nidle = torch.ones(4, requires_grad=True)\n"
        "opt = torch.optim.Adam([*net.parameters(), w, v, idle], lr=0.1)\n"
        "for i in range(3):\n    opt.zero_grad()\n"
        "    ((w * 0).sum() + v.sum() + net(torch.ones(200)).sum() * 0).backward()\n"
        "    opt.step()\n"
    )
    assert read.count((2,)) >= 3
    assert max(map(read.count, [(50, 200), (3,), (4,)])) <= 1  # once, after the run
