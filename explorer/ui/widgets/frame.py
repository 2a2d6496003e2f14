"""The frame around every page: settings, navigation, glossary, styles.

There is no `st.navigation`: with a `pages/` folder it runs a page without `app.py` on a cold deep
link. Every page draws this frame itself instead.
"""

from __future__ import annotations

import functools
from pathlib import Path

import streamlit as st

from explorer import sandbox, view
from explorer.ui.pages import HOME, PAGES, Page
from explorer.ui.pages import page as page_of
from explorer.ui.server import metrics
from explorer.ui.server.places import wait_for_place
from explorer.ui.server.sandbox_call import enter_page
from explorer.ui.server.shared_call import count_under_way
from explorer.ui.server.startup import prepare_process, refusal
from explorer.ui.widgets.basics import theme_css
from explorer.ui.widgets.consent import wait_for_consent
from explorer.ui.widgets.copy_link import copy_link
from explorer.ui.widgets.glossary_dialog import glossary_button
from explorer.ui.widgets.lesson_strip import draw_strip
from explorer.ui.widgets.network_call import count_waiting
from explorer.ui.widgets.reconnect import restore

_UI = Path(__file__).parents[1]
_SHARED = [
    Path(view.__file__).with_name("markup.css"),
    *(Path(__file__).with_name(name) for name in ("style.css", "editor.css")),
]
_ICON = str(Path(__file__).with_name("icon.svg"))
NAME = "Autograd Explorer"
#: Seen while it has the keyboard's focus. Streamlit's own link leads to before the navigation.
_SKIP = '<a class="ax-skip" href="#page">Skip the navigation</a>'


@functools.cache
def _styles(page: str) -> str:
    """The styles of all pages, and those in a page's folder, in one element."""
    files = (*_SHARED, _UI / page / f"{page}.css")
    rules = "".join(file.read_text(encoding="utf-8") for file in files if file.exists())
    return f"<style>{theme_css()}{rules}</style>"


def draw_frame(key: str) -> Page:
    """Draw the frame of the page `key` and return its record. The first call of every page."""
    page = page_of(key)
    st.html(_styles(page.key))  # first: until the browser has it, all else lacks its place
    metrics.time_page(key)
    arrived = enter_page(key)
    wait_for_place()
    st.set_page_config(
        page_title=NAME if page is HOME else f"{page.title} · {NAME}",
        page_icon=_ICON,
    )
    try:
        prepare_process()
        metrics.provide(count_under_way, count_waiting)
    except sandbox.OptionError as error:
        st.error(f"The app cannot start. {error}")
        st.stop()
    if reason := refusal():
        st.error(reason)
        st.stop()
    with st.container(horizontal=True, vertical_alignment="center", gap="xxsmall", key="pages"):
        # In this order and these widths without our styles too, which may come a moment later.
        st.html(_SKIP, width=1)
        st.page_link(HOME.file, label=f"**{NAME}**")
        for other in PAGES:
            st.page_link(other.file, label=other.title, icon=other.icon)
        st.space("stretch")
        restore(page, copy_link(), arrived=arrived)
        glossary_button(page)
    wait_for_consent()
    draw_strip(page)
    if page is not HOME:
        st.html(f'<div class="ax-head" id="page"><h1>{page.question}</h1></div>')
    return page
