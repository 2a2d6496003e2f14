"""The home page: an expression to type and drag, and doors to the pages."""

import streamlit as st

from explorer.ui.home.live_box import live_box
from explorer.ui.pages import HOME, PAGES
from explorer.ui.server.startup import warning_for_operator
from explorer.ui.widgets.basics import columns
from explorer.ui.widgets.frame import draw_frame


def draw_home() -> None:
    draw_frame("home")
    if warning := warning_for_operator():
        st.warning(warning)
    st.html(
        f'<div class="ax-hero" id="page"><h1>{HOME.question}</h1>'
        "<p>Type an expression, or paste PyTorch code. "
        "Drag x: every value and gradient follows.</p></div>"
    )
    live_box(*columns(0.4, 0.6))
    for page, column in zip(PAGES, columns(*(1 for _ in PAGES)), strict=True):
        with column.container(border=True, gap="xxsmall", key=f"door-{page.key}"):
            st.page_link(page.file, label=f"**{page.title}**", icon=page.icon)
            st.html(f'<div class="ax-note"><b>{page.question}</b> {page.about}</div>')
