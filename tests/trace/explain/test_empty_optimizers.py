"""Why an optimizer gets an empty list of parameters."""

from __future__ import annotations

import pytest
import torch

from tests.trace.explain.proved import proved

# The first optimizer of a process loads parts of torch, which takes longer than a try may take.
torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)

CLASS = (
    "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        LAYERS\n    def forward(self, x):\n        return FC(x)\n"
    "net = Net()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
)
MADE = CLASS.replace("LAYERS", "self.fc = nn.Linear(2, 1)").replace("FC", "self.fc")
LOCAL = CLASS.replace("LAYERS", "fc = nn.Linear(2, 1)").replace("FC", "fc")
LIST = CLASS.replace("LAYERS", "self.parts = [nn.Linear(2, 1)]").replace("FC", "self.parts[0]")
GIVEN = "net.parameters()"

#: Program, words, a part of the fix.
CAUSES = {
    "a misspelt constructor": (
        MADE.replace("__init__(self):", "_init_(self):"),
        ["Net has a method _init_", "__init__"],
        "def __init__(self):",
    ),
    "local variables": (LOCAL, ["Net stores fc", "self.fc"], "self.fc = nn.Linear(2, 1)"),
    "local variables that look like attributes": (
        LOCAL.replace("fc", "self_fc"),
        ["self_fc", "self.fc"],
        "return self.fc(x)",
    ),
    "a plain list": (LIST, ["net.parts", "plain Python list"], "nn.ModuleList([nn.Linear(2, 1)])"),
    "an iterator that is used up": (
        MADE.replace("opt =", "params = net.parameters()\nprint(len(list(params)))\nopt =").replace(
            "SGD(net.parameters()", "SGD(params"
        ),
        ["params is an iterator", "list("],
        "params = list(net.parameters())",
    ),
    "all frozen": (
        MADE.replace("opt =", "net.requires_grad_(False)\nopt =").replace(
            "SGD(net.parameters()", "SGD(filter(lambda p: p.requires_grad, net.parameters())"
        ),
        ["All 2 parameters of net are frozen"],
        "",
    ),
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_reason_is_told_with_a_cure_that_works(name: str) -> None:
    program, words, fix = CAUSES[name]
    trace = proved(program)
    assert trace.error is not None
    (answer,) = [a for a in trace.answers if a.key == "optimizer.empty"]
    for word in words:
        assert word in f"{answer.text} {answer.cure}"
    assert bool(answer.fix) == bool(fix)
    assert fix in (answer.fix or "")


def test_another_empty_list_is_left_to_the_error() -> None:
    trace = proved("import torch\nopt = torch.optim.SGD([], lr=0.1)\n")
    assert trace.error is not None
    assert trace.answers == ()
