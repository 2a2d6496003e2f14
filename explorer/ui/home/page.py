"""The home page: an expression to type and drag, and doors to the pages."""

from html import escape

import streamlit as st

from explorer.lessons import lessons
from explorer.ui.home.live_box import live_box
from explorer.ui.pages import HOME, PAGES
from explorer.ui.server.startup import warning_for_operator
from explorer.ui.widgets.basics import columns
from explorer.ui.widgets.frame import draw_frame
from explorer.ui.widgets.lesson_strip import first_address, lesson_links, resumed


def draw_home() -> None:
    draw_frame("home")
    if warning := warning_for_operator():
        st.warning(warning)
    st.html(
        f'<div class="ax-hero" id="page"><div><h1>{HOME.question}</h1>'
        "<p>Type an expression, or paste PyTorch code. "
        f"Drag x: every value and gradient follows.</p></div>{_start()}</div>"
    )
    live_box(*columns(0.4, 0.6))
    for page, column in zip(PAGES, columns(*(1 for _ in PAGES)), strict=True):
        with column.container(border=True, gap="xxsmall", key=f"door-{page.key}"):
            st.page_link(page.file, label=f"**{page.title}**", icon=page.icon)
            st.html(f'<div class="ax-note"><b>{page.question}</b> {page.about}</div>')
    _, *others = lessons().values()
    st.html(
        '<nav class="ax-lessons" id="lessons" aria-label="Lessons"><b>Lessons</b>'
        f" {lesson_links(others)}</nav>"
    )


def _start() -> str:
    """The way into the first lesson, or back to the one that the reader has left; and to the list
    of lessons, at the end of the page."""
    first, left = next(iter(lessons().values())), resumed()
    ways = []
    if left is not None:
        title, count = left.lesson.title, len(left.lesson.steps)
        ways.append((left.address, f"Resume “{title}”: step {left.at} of {count}"))
    if left is None or left.lesson is not first:
        ways.append((first_address(first), f"{first.title}: five minutes"))
    main, *others = ways
    links = [
        f'<a class="{style}" href="{escape(address)}">{escape(label)}</a>'
        for style, (address, label) in [("ax-start", main), *(("", other) for other in others)]
    ]
    links.append('<a href="#lessons">All lessons</a>')
    return f'<nav aria-label="Start">{"".join(reversed(links))}</nav>'
