"""Gradients that add up or are cleared too early, and look-alikes that do so on purpose."""

from __future__ import annotations

import pytest

from tests.trace.explain.proved import proved

W = "import torch\nfrom torch import nn\nw = torch.tensor([1.0, 2.0], requires_grad=True)\n"
LOOP = (
    W + "opt = torch.optim.SGD([w], lr=0.1)\nfor i in range(3):\n    loss = (w**2).sum()\n"
    "    loss.backward()\n    opt.step()\n"
)
BY_HAND = (
    W + "for i in range(3):\n    loss = (w**2).sum()\n    loss.backward()\n"
    "    with torch.no_grad():\n        w -= 0.1 * w.grad\n"
)
NET = (
    "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nnet = nn.Linear(2, 1)\n"
    "x = torch.ones(4, 2)\n"
)
GAN = (
    "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nG, D = nn.Linear(2, 2), "
    "nn.Linear(2, 1)\nog = torch.optim.SGD(G.parameters(), lr=0.1)\n"
    "od = torch.optim.SGD(D.parameters(), lr=0.1)\nfor i in range(3):\n"
    "    fake = G(torch.randn(4, 2))\n    d_loss = D(fake.detach()).pow(2).mean() "
    "+ (D(torch.randn(4, 2)) - 1).pow(2).mean()\n    od.zero_grad()\n    d_loss.backward()\n"
    "    od.step()\n    g_loss = (D(fake) - 1).pow(2).mean()\n    og.zero_grad()\n"
    "    g_loss.backward()\n    og.step()\n"
)
ORDERED = (
    W + "opt = torch.optim.SGD([w], lr=0.1)\nfor i in range(3):\n    loss = (w**2).sum()\n"
    "    FIRST\n    SECOND\n    THIRD\n"
)


def ordered(*calls: str) -> str:
    program = ORDERED
    for place, call in zip(("FIRST", "SECOND", "THIRD"), calls, strict=True):
        program = program.replace(place, call)
    return program


ZERO, BACK, STEP = "opt.zero_grad()", "loss.backward()", "opt.step()"
#: Key, program, words, a part of the fix.
CAUSES = {
    "no zero_grad": (
        "accumulation.added",
        LOOP,
        ["[2, 4] + [1.6, 3.2] = [3.6, 7.2]", "line 8", "opt.zero_grad()"],
        "    opt.zero_grad()\n    loss.backward()",
    ),
    "no zero_grad of the model, updated by hand": (
        "accumulation.added",
        NET + "for i in range(3):\n    net(x).pow(2).mean().backward()\n    with torch.no_grad():\n"
        "        for p in net.parameters():\n            p -= 0.1 * p.grad\n",
        ["line 10", "net.zero_grad()"],
        "    net.zero_grad()\n    net(x)",
    ),
    "no zero_grad of a tensor, updated by hand": (
        "accumulation.added",
        BY_HAND,
        ["line 8", "line 6", "w.grad = None"],
        "    w.grad = None\n    loss.backward()",
    ),
    "updated through .data": (
        "accumulation.added",
        BY_HAND.replace("with torch.no_grad():\n        w -=", "w.data -="),
        ["line 7"],
        "w.grad = None",
    ),
    "zero_grad of another optimizer": (
        "accumulation.added",
        GAN.replace("    od.zero_grad()\n", ""),
        ["D.weight.grad", "line 11", "od.zero_grad()"],
        "    od.zero_grad()\n    d_loss.backward()",
    ),
    "zero_grad once per epoch": (
        "accumulation.added",
        NET + "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor epoch in range(2):\n"
        "    opt.zero_grad()\n    for b in x.split(2):\n        loss = net(b).pow(2).mean()\n"
        "        loss.backward()\n        opt.step()\n",
        ["net.weight"],
        "        opt.zero_grad()\n        loss.backward()",
    ),
    "two passes, no step": (
        "accumulation.added",
        W + "(w**2).sum().backward()\n(w * 3).sum().backward()\nprint(w.grad)\n",
        ["[2, 4] + [3, 3] = [5, 7]", "line 5"],
        "w.grad = None\n(w * 3)",
    ),
    "cleared before the step": (
        "accumulation.cleared",
        ordered(BACK, ZERO, STEP),
        ["Line 8 cleared", "line 9"],
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()",
    ),
    "a step before backward": (
        "accumulation.cleared",
        ordered(ZERO, STEP, BACK),
        ["line 8"],
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()",
    ),
}


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
        assert word in text, text
    assert answer.fix is not None
    assert fix in answer.fix
    assert answer.tried


FINE = {
    "zero, backward, step": ordered(ZERO, BACK, STEP),
    "backward, step, zero": ordered(BACK, STEP, ZERO),
    "a GAN": GAN,
    "accumulation over batches": NET + "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for i, b in enumerate(torch.randn(8, 4, 2)):\n    (net(b).pow(2).mean() / 2).backward()\n"
    "    if (i + 1) % 2 == 0:\n        opt.step()\n        opt.zero_grad()\n",
    "two losses": NET + "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor i in range(3):\n"
    "    opt.zero_grad()\n    net(x).mean().backward()\n    net(x).pow(2).mean().backward()\n"
    "    opt.step()\n",
    "parts of a batch": NET + "net.zero_grad()\nfor b in x.split(2):\n"
    "    net(b).pow(2).sum().backward()\nprint(net.weight.grad)\n",
    "cleared with None": BY_HAND + "    w.grad = None\n",
    "cleared in place": BY_HAND + "    w.grad.zero_()\n",
    "cleared at the end of a turn": BY_HAND.replace("    with", "    g = w.grad.clone()\n    with")
    + "    w.grad = None\n",
    "a closure": W + "opt = torch.optim.LBFGS([w], lr=0.5)\ndef closure():\n    opt.zero_grad()\n"
    "    loss = (w**2).sum()\n    loss.backward()\n    return loss\nfor i in range(3):\n"
    "    opt.zero_grad()\n    opt.step(closure)\n",
    "autograd.grad": W + "for i in range(3):\n    g, = torch.autograd.grad((w**2).sum(), w)\n"
    "    w = (w - 0.1 * g).detach().requires_grad_()\n",
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_a_healthy_program_gets_no_such_answer(name: str) -> None:
    trace = proved(FINE[name])
    assert trace.error is None, trace.error
    assert [a.key for a in trace.answers if a.key.startswith("accumulation.")] == []
