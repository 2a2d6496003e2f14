"""Small widgets and notes that several pages share."""

from __future__ import annotations

import pytest
import streamlit as st

from explorer.ui.common.widgets import while_drawn


@pytest.mark.parametrize("is_drawn", [True, False])
def test_a_component_that_is_gone_reports_nothing(
    is_drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(st, "session_state", {"drag": "moved"} if is_drawn else {})
    heard = []
    while_drawn("drag", lambda: heard.append(st.session_state["drag"]))()
    assert heard == ["moved"] * is_drawn
