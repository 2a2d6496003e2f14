"""Losses whose targets are all one class, backward weighted by the loss, and their look-alikes."""

from __future__ import annotations

import pytest

from tests.trace.explain.proved import proved

T = (
    "import torch\nfrom torch import nn\nimport torch.nn.functional as F\ntorch.manual_seed(0)\n"
    "net = nn.Linear(2, 3)\nopt = torch.optim.SGD(net.parameters(), lr=1.0)\n"
)
FIT = T + (
    "y = torch.full((9,), 1)\nfor step in range(20):\n    x = torch.randn(9, 2)\n"
    "    loss = F.cross_entropy(net(x), y)\n    opt.zero_grad()\n    loss.backward()\n"
    "    opt.step()\n"
)
BINARY = (
    FIT.replace("full((9,), 1)", "zeros(9, 3)")
    .replace("F.cross_entropy", "nn.BCEWithLogitsLoss()")
    .replace("range(20)", "range(80)")
)
KEYS = {"loss.one_class", "backward.scaled"}

#: Key, program, words of the text.
CAUSES = {
    "cross entropy": ("loss.one_class", FIT, ["on line 10", "class 1", "the loss goes to 0"]),
    "binary": ("loss.one_class", BINARY, ["on line 10", "class 0"]),
    "weighted": (
        "backward.scaled",
        FIT.replace("backward()", "backward(loss)").replace("1)\n", "2) - torch.arange(9) % 2\n"),
        ["line 12", "loss²/2"],
    ),
    "weighted by keyword": (
        "backward.scaled",
        T + "loss = net(torch.ones(1, 2)).pow(2).sum()\nloss.backward(gradient=loss)\n",
        ["line 8", "loss²/2"],
    ),
}
FINE = {
    "two classes": FIT.replace("x = torch", "y[0] = 0\n    x = torch"),
    "another class elsewhere": FIT + "F.cross_entropy(net(x), y - 1).backward()\n",
    "few targets": FIT.replace("9", "3"),
    "nothing learned": FIT.replace("lr=1.0", "lr=1e-5"),
    "an input that is changed": FIT.replace("net.parameters()", "[x]").replace(
        "opt = ", "x = torch.randn(9, 2, requires_grad=True)\nopt = "
    ).replace("    x = torch.randn(9, 2)\n", ""),
    "smooth targets": BINARY.replace("zeros(9, 3)", "full((9, 3), 0.05)"),
    "weighted by another": T + "loss = net(torch.ones(1, 2)).pow(2).sum()\n"
    "weight = loss.detach()\nloss.backward(weight)\n",
    "weighted by 1": T + "loss = net(torch.ones(1, 2)).sum()\nloss = loss / loss.detach()\n"
    "loss.backward(loss)\n",
}  # fmt: skip


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_told(name: str) -> None:
    key, program, words = CAUSES[name]
    trace = proved(program)
    assert trace.error is None
    (answer,) = [answer for answer in trace.answers if answer.key in KEYS]
    assert answer.key == key
    for word in words:
        assert word in answer.text
    if key == "backward.scaled":
        assert "loss.backward()\n" in (answer.fix or "")
        assert answer.tried.startswith("With this change, ")


@pytest.mark.parametrize("name", FINE)
def test_a_look_alike_gets_no_answer(name: str) -> None:
    trace = proved(FINE[name])
    assert trace.error is None
    assert not [answer for answer in trace.answers if answer.key in KEYS]
