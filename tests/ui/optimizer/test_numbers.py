"""The number whose arithmetic is shown: picked by a click, or by what a browser sends as well."""

from __future__ import annotations

from typing import Any

import pytest
import streamlit as st

from explorer.training import PRESETS, TrainingSession
from explorer.ui.optimizer import numbers

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("name", "place"),
    [("w", -1), ("w", True), ("w", 0.5), ("w", "1"), ("w", None), (["w"], 1), ({}, 1), (None, 1)],
)
def test_only_a_place_can_be_picked(name: Any, place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {})
    view = TrainingSession(PRESETS["linear regression"], "SGD").view()
    numbers._pick("w", 1)
    numbers._pick(name, place)
    picked = numbers._picked(view)
    assert (picked.name, picked.place) == ("w", 1)


@pytest.mark.parametrize(("name", "place"), [("w", 10**30), ("<b>", 1)])
def test_what_there_is_not_is_the_first_number(
    name: str, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(st, "session_state", {})
    view = TrainingSession(PRESETS["linear regression"], "SGD").view()
    numbers._pick(name, place)
    picked = numbers._picked(view)
    assert (picked.name, picked.place) == (next(iter(view.parameters)), 0)
