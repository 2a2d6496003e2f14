"""Small widgets and notes that several pages share."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import streamlit as st

import explorer.ui
from explorer.ui.widgets.basics import while_drawn

UI = Path(explorer.ui.__file__).parent


def test_every_report_of_a_component_waits_for_it() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in UI.rglob("*.py")}
    reports = [
        (path.name, report)
        for path, text in texts.items()
        for report in re.findall(r"\bon_[a-z]+_change=(.*)", text)
    ]
    assert len(reports) > 10
    waiting = ("while_drawn(", "lambda: None")
    assert [one for one in reports if not one[1].startswith(waiting)] == []


@pytest.mark.parametrize("is_drawn", [True, False])
def test_a_component_that_is_gone_reports_nothing(
    is_drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(st, "session_state", {"drag": "moved"} if is_drawn else {})
    heard = []
    while_drawn("drag", lambda: heard.append(st.session_state["drag"]))()
    assert heard == ["moved"] * is_drawn
