"""Warnings that are explained in plain words, of every category."""

from __future__ import annotations

import pytest

import explorer
from tests.trace.explain.proved import proved

T = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
CHECKPOINT = (
    "import torch\nfrom torch.utils.checkpoint import checkpoint\nm = torch.nn.Linear(2, 2)\n"
    "z = checkpoint(m, torch.randn(2, 2), use_reentrant=True)\n"
)
#: Program, words of the text, a line of the fix.
FIXED = [
    (CHECKPOINT, ["line 4", "use_reentrant=True"], "use_reentrant=False)"),
    (CHECKPOINT + "z.sum().backward()\n", ["line 4"], "use_reentrant=False)"),
    (
        T + "s = torch.randn(2, 3, requires_grad=True)\np = F.softmax(s)\np[0, 0].backward()\n",
        ["names no dimension"],
        "p = F.softmax(s, dim=1)",
    ),
    (
        T + "s = torch.randn(2, 3, requires_grad=True)\n"
        "F.kl_div(s.log_softmax(1), torch.full((2, 3), 1 / 3)).backward()\n",
        ["number of classes"],
        '(2, 3), 1 / 3), reduction="batchmean")',
    ),
    (T + "rnn = nn.LSTM(2, 3, dropout=0.5)\n", ["one layer"], "dropout=0.5, num_layers=2)"),
    (
        T + "n = nn.Linear(2, 2)\nn.register_backward_hook(lambda m, i, o: None)\n"
        "n(torch.randn(2, 2)).sum().backward()\n",
        ["last operation"],
        "n.register_full_backward_hook(",
    ),
]


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """The first checkpoint of a process imports much, which takes longer than tries may."""
    explorer.run(CHECKPOINT.replace("=True", "=False"))


@pytest.mark.parametrize(("program", "words", "line"), FIXED)
def test_a_warning_is_explained_and_its_cure_works(
    program: str, words: list[str], line: str
) -> None:
    trace = proved(program)
    assert trace.notes
    (answer,) = trace.answers
    assert answer.key == "torch.warning"
    for word in words:
        assert word in answer.text
    assert answer.fix is not None
    assert line in answer.fix


def test_warnings_of_numpy_are_told() -> None:
    trace = explorer.run("import numpy as np\nx = np.log(np.array([0.0, 1.0]))\n")
    assert trace.notes == ("divide by zero encountered in log",)
    (answer,) = trace.answers
    assert "divide by zero encountered in log" in answer.text


@pytest.mark.parametrize(
    "program",
    [
        CHECKPOINT.replace("randn(2, 2)", "randn(2, 2, requires_grad=True)"),
        CHECKPOINT.replace("=True", "=False"),
        T + "rnn = nn.LSTM(2, 3, num_layers=2, dropout=0.5)\n",
        T + "F.softmax(torch.randn(2, 3), dim=0)\n",
    ],
)
def test_without_a_warning_nothing_is_said(program: str) -> None:
    trace = proved(program)
    assert (trace.notes, trace.answers) == ((), ())
