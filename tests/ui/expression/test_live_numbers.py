"""The numbers of the Expression page at the ends of lines."""

from __future__ import annotations

import pytest
import streamlit as st

import explorer
from explorer.ui.expression.live_numbers import line_ends
from explorer.ui.expression.program import LINE_VALUES

SOURCE = "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\nout = (x**2).sum()\nout"


@pytest.mark.parametrize("wanted", [False, True])
def test_values_stand_at_the_ends_of_lines(monkeypatch: pytest.MonkeyPatch, wanted: bool) -> None:
    monkeypatch.setattr(st, "session_state", {LINE_VALUES: wanted})
    named = {2: "[1, 2] · grad [2, 4]", 3: "5 · grad 1 (read by a hook)"} if wanted else {}
    assert line_ends(explorer.run(SOURCE)) == {4: "tensor(5.)"} | named


def test_no_number_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {})
    (line,) = line_ends(explorer.run("import torch\ntorch.arange(1, 30) * 1.2345e-10")).values()
    assert line.endswith(", …")
    assert all(number.endswith("e-10") for number in line[8:-3].split(", ") if number)
