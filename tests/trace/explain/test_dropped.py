"""Results on a line of their own that nobody keeps, and lines that are right."""

from __future__ import annotations

import pytest

from tests.trace.explain.proved import proved

T = "import torch\nfrom torch import nn\ncell = nn.RNNCell(2, 3)\nw = torch.ones(2, 3)\n"
LOOP = (
    T
    + "h = torch.zeros(1, 3)\nfor x in torch.randn(3, 1, 2):\n    h.detach()\n    h = cell(x, h)\n"
    "    h.sum().backward()\n"
)
FUNCTION = (
    T + "def target(net, x):\n    q = net(x)\n    q.detach()\n    return 0.9 * q\n"
    "print(target(cell, torch.ones(1, 2)))\n"
)
CAST = T + "for x in torch.ones(2, 2, dtype=torch.float64):\n    x.float()\n    print(x.dtype)\n"

#: Program, words of the answer, a line of the fix.
CAUSES = [
    (LOOP, ["h.detach() returns a new tensor", "with its history", "Line 7"], "h = h.detach()"),
    (FUNCTION, ["q.detach()", "line 7"], "    q = q.detach()"),
    (
        T + "p = w.requires_grad_() * 2\np.detach()\n(p * w).sum().backward()\nprint(w.grad)\n",
        ["p.detach()", "line 6"],
        "p = p.detach()",
    ),
    (CAST, ["x.float()", "as it is"], "    x = x.float()"),
]

#: Programs in which such a line is right, or is there to show a value.
SILENT = {
    "kept": LOOP.replace("    h.detach()", "    h = h.detach()"),
    "in place": LOOP.replace("h.detach()", "h = h * 1\n    h.detach_()"),
    "shown": T + "w.detach()\nprint(w)\n",
    "a module": T
    + "def move(net):\n    net.float()\n    return net(torch.ones(1, 2))\nmove(cell)\n",
    "the same tensor": T + "def f(a):\n    a.float()\n    return a\nf(w)\n",
    "not used again": T + "for i in range(2):\n    v = torch.ones(2)\n    v.view(2, 1)\n",
    "a list": "def f(a):\n    a.to = list\n    return a\nf(lambda: 0)\n",
}


@pytest.mark.parametrize(("program", "words", "line"), CAUSES)
def test_a_dropped_result_is_told(program: str, words: list[str], line: str) -> None:
    trace = proved(program)
    answer = next(a for a in trace.answers if a.key == "result.dropped")
    said = f"{answer.title} {answer.text} {answer.cure}"
    assert all(word in said for word in words), said
    assert answer.tried
    assert line in (answer.fix or "").splitlines() or line.strip() in answer.cure


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_nothing_is_said_of_lines_that_are_right(program: str) -> None:
    assert "result.dropped" not in [a.key for a in proved(program).answers]
