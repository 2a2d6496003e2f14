"""Answers of a child: well typed, and hostile."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.program import ProgramRefused
from explorer.sandbox.client import parse_answer
from explorer.trace import Node, Trace, run, to_plain
from explorer.training.derivation import DerivationLine

pytestmark = pytest.mark.fast
LINK = 'n0" URL="http://elsewhere.invalid'


@pytest.mark.parametrize(("name", "kind"), [(LINK, "leaf"), ("n0", LINK), ("", "leaf")])
def test_what_is_written_into_dot_is_a_word(name: str, kind: str) -> None:
    with pytest.raises(ValueError, match="not a node"):
        Node(name, kind, "")


def test_an_answer_with_such_a_node_is_refused() -> None:
    source = "import torch\nx = torch.ones(2, requires_grad=True)\nx.sum().backward()\n"
    plain = to_plain(run(source))
    assert parse_answer(Trace, plain).passes
    plain["passes"][0]["nodes"][0]["id"] = LINK
    with pytest.raises(ProgramRefused):
        parse_answer(Trace, plain)


@pytest.mark.parametrize("text", ["{g:>1000000000000}", "{g.__class__}", "{", "{missing}"])
def test_arithmetic_fills_in_numbers_and_nothing_else(text: str) -> None:
    line = DerivationLine("p", "", "", text, {"g": 2.0}, np.array([3.0]))
    assert line.at((0,)) == f"{text} = 3"
