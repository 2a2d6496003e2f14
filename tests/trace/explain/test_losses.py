"""Losses that do not measure what they should, and look-alikes that do."""

from __future__ import annotations

import pytest

from tests.trace.explain.proved import proved

T = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
FIT = (
    T + "net = nn.Linear(2, 1)\nx = torch.randn(5, 2)\ny = torch.randn(5)\n"
    "loss_fn = nn.MSELoss()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for epoch in range(3):\n    opt.zero_grad()\n    out = net(x)\n    loss = loss_fn(out, y)\n"
    "    loss.backward()\n    opt.step()\n"
)
CLASSIFY = T + "x = torch.randn(5, 2)\ny = torch.tensor([0, 1, 2, 1, 0])\n"

ACTOR = T + (
    "log_p = torch.randn(5, requires_grad=True)\nvalue = torch.randn(5, 1, requires_grad=True)\n"
    "returns = torch.randn(5)\nadvantage = returns - value.detach()\n"
    "loss = -(advantage * log_p).mean()\nloss.backward()\n"
)
#: Key, program, words of the text, a line of the fix.
CAUSES = [
    ("silent.broadcast", FIT, ["(5, 1)", "(5,)", "(5, 5)", "25"], "loss_fn(out, y.unsqueeze(-1))"),
    (
        "silent.broadcast",
        FIT.replace("nn.MSELoss()", "nn.SmoothL1Loss()").replace("loss_fn(", "nn.L1Loss()(", 1),
        ["line 12", "(5, 1)"],
        "nn.L1Loss()(out, y.unsqueeze(-1))",
    ),
    (
        "silent.broadcast",
        FIT.replace("torch.randn(5)", "torch.randn(1, 5)"),
        ["(1, 5)", "(5, 5)"],
        "loss_fn(out, y.view_as(out))",
    ),
    (
        "silent.broadcast",
        FIT.replace("out = net(x)", "out = net(x).squeeze()").replace("(5)", "(5, 1)"),
        ["out has the shape (5,)"],
        "loss_fn(out, y.squeeze(-1))",
    ),
    (
        "silent.broadcast",
        FIT.replace("loss_fn(out, y)", "((out - y) ** 2).mean()"),
        ["out has", "(5, 5)"],
        "((out - y.unsqueeze(-1)) ** 2).mean()",
    ),
    (
        "silent.broadcast",
        FIT.replace("loss_fn(out, y)", "-(F.logsigmoid(out) * y).mean()"),
        ["(5, 5)"],
        "-(F.logsigmoid(out) * y.unsqueeze(-1)).mean()",
    ),
    (
        "silent.softmax",
        CLASSIFY + "net = nn.Sequential(nn.Linear(2, 3), nn.Softmax(dim=1))\n"
        "loss = nn.CrossEntropyLoss()(net(x), y)\nloss.backward()\n",
        ["net.1", "0.55144"],
        "net = nn.Sequential(nn.Linear(2, 3))",
    ),
    (
        "silent.softmax",
        CLASSIFY + "w = torch.randn(2, 3, requires_grad=True)\np = (x @ w).softmax(1)\n"
        "loss = F.cross_entropy(p, y)\nloss.backward()\n",
        ["line 7"],
        "p = x @ w",
    ),
    (
        "silent.softmax",
        CLASSIFY + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(2, 1)\n        self.act = nn.Sigmoid()\n"
        "    def forward(self, x):\n        return self.act(self.fc(x))\nnet = Net()\n"
        "loss = F.binary_cross_entropy_with_logits(net(x), torch.ones(5, 1))\nloss.backward()\n",
        ["net.act", "sigmoid"],
        "return self.fc(x)",
    ),
    (
        "loss.logarithm",
        CLASSIFY + "w = torch.randn(2, 3, requires_grad=True)\np = torch.softmax(x @ w, 1)\n"
        "loss = F.nll_loss(p, y)\nloss.backward()\n",
        ["line 7 computes softmax"],
        "p = torch.log_softmax(x @ w, 1)",
    ),
    (
        "loss.logarithm",
        CLASSIFY + "w = torch.randn(2, 3, requires_grad=True)\nt = torch.full((5, 3), 1 / 3)\n"
        "p = F.softmax(x @ w, dim=1)\nloss = nn.KLDivLoss(reduction='batchmean')(p, t)\n"
        "loss.backward()\n",
        ["kl_div on line 9"],
        "p = F.log_softmax(x @ w, dim=1)",
    ),
    (
        "loss.logarithm",
        CLASSIFY + "net, softmax = nn.Linear(2, 3), nn.Softmax(dim=1)\np = softmax(net(x))\n"
        "loss = F.nll_loss(p, y)\nloss.backward()\n",
        ["line 7 computes softmax"],
        "nn.LogSoftmax(dim=1)\np = softmax(net(x))",
    ),
    (
        "loss.logarithm",
        CLASSIFY + "from torch.nn.functional import softmax\nnet = nn.Linear(2, 3)\n"
        "loss = F.nll_loss(softmax(net(x), 1), y)\nloss.backward()\n",
        ["line 8 computes softmax"],
        "log_softmax(net(x), 1)",
    ),
    (
        "silent.broadcast",
        ACTOR,
        ["line 7", "returns has the shape (5,)", "(5, 1)", "25 numbers instead of 5"],
        "advantage = returns - value.detach().squeeze(-1)",
    ),
]
HEALTHY = {
    "an advantage for each": ACTOR.replace(".detach()", ".detach().squeeze(1)"),
    "weights of pairs": ACTOR.replace("advantage * log_p", "advantage * torch.outer(log_p, log_p)"),
    "a column against a column": FIT.replace("randn(5)", "randn(5, 1)"),
    "a row against a row": FIT.replace("net(x)", "net(x).squeeze(-1)"),
    "pairwise distances": T + "a = torch.randn(4, 1, requires_grad=True)\nb = torch.randn(4)\n"
    "d = torch.exp(-(a - b) ** 2)\nloss = d.mean()\nloss.backward()\n",
    "pairwise on purpose": T + "a = torch.randn(4, requires_grad=True)\n"
    "loss = ((a[:, None] - a) ** 2).mean()\nloss.backward()\n",
    "a bias": T + "w = torch.randn(4, 1, requires_grad=True)\nx = torch.randn(4, 4)\n"
    "loss = ((x - w) ** 2).mean()\nloss.backward()\n",
    "scores": CLASSIFY + "net = nn.Linear(2, 3)\nF.cross_entropy(net(x), y).backward()\n",
    "attention before the scores": CLASSIFY + "net = nn.Linear(2, 3)\n"
    "a = torch.softmax(net(x), 1)\nF.cross_entropy(a * net(x), y).backward()\n",
    "soft targets": CLASSIFY + "net = nn.Linear(2, 3)\nt = torch.softmax(torch.randn(5, 3), 1)\n"
    "F.cross_entropy(net(x), t).backward()\n",
    "logarithms": CLASSIFY + "net = nn.Linear(2, 3)\n"
    "F.nll_loss(F.log_softmax(net(x), 1), y).backward()\n",
    "a number as the target": T + "w = torch.randn(4, 1, requires_grad=True)\n"
    "F.mse_loss(w.mean(), torch.tensor(2.0)).backward()\n",
}


@pytest.mark.parametrize(("key", "program", "words", "line"), CAUSES)
def test_a_cause_is_found_and_its_cure_works(
    key: str, program: str, words: list[str], line: str
) -> None:
    trace = proved(program)
    (answer,) = [answer for answer in trace.answers if answer.key == key]
    for word in words:
        assert word in answer.text
    assert answer.fix is not None
    assert line in answer.fix
    assert answer.tried.startswith("With this change, ")


@pytest.mark.parametrize("name", HEALTHY)
def test_a_look_alike_gets_no_answer(name: str) -> None:
    trace = proved(HEALTHY[name])
    assert trace.error is None
    assert not [a for a in trace.answers if a.key.split(".")[0] in ("silent", "loss")]


def test_a_column_that_broadcasts_to_several_columns_is_counted() -> None:
    program = T + (
        "q, t = torch.zeros(4, 1, requires_grad=True), torch.ones(4, 3)\n"
        "F.mse_loss(q, t).backward()\n"
    )
    (answer,) = [a for a in proved(program).answers if a.key == "silent.broadcast"]
    assert "12 numbers instead of 4" in answer.text
