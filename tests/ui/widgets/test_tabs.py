"""The tab that a reader has opened stays open when other tabs come or go."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

pytestmark = pytest.mark.fast


def _page() -> None:
    """Tabs, one of which only some networks have; writes the open ones."""
    import streamlit as st

    from explorer.ui.widgets.basics import draw_tabs

    titles = ["Layers", "Histogram", *(["Attention"] if st.toggle("more", key="more") else [])]
    tabs = draw_tabs(titles, "part")
    st.text(" ".join(title for title, tab in tabs.items() if tab.open))


def _open(at: AppTest, title: str) -> None:
    """Open a tab. The browser keeps it in the link, unless it is the first one."""
    at.session_state["part"] = title
    at.query_params.pop("part", None)
    if title != "Layers":
        at.query_params["part"] = title
    assert _shown(at.run()) == title


def _change_titles(at: AppTest) -> str:
    """The open tab once there are other tabs."""
    more = at.toggle(key="more")
    return _shown(more.set_value(not more.value).run())


def _shown(at: AppTest) -> str:
    assert not at.exception
    return str(at.text[0].value)


def test_the_first_tab_stays_open_after_another_was() -> None:
    at = AppTest.from_function(_page).run()
    _open(at, "Histogram")
    assert _change_titles(at) == "Histogram"
    _open(at, "Layers")
    assert _change_titles(at) == "Layers"
    assert "part" not in at.query_params


def test_a_tab_that_has_gone_leaves_the_first_one_open() -> None:
    at = AppTest.from_function(_page).run()
    _change_titles(at)
    _open(at, "Attention")
    for _ in range(2):
        assert _change_titles(at) == "Layers"
    assert "part" not in at.query_params


def test_the_link_opens_a_tab() -> None:
    at = AppTest.from_function(_page)
    at.query_params["part"] = "Histogram"
    assert _shown(at.run()) == "Histogram"
    assert _change_titles(at) == "Histogram"
    assert at.query_params["part"] == "Histogram"
