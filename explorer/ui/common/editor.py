"""The program editor: a text area with numbered lines in which lines can be marked.

Numbers and marks are backgrounds of the text area itself and scroll with its text, so the program
is on the screen only once. Line heights agree with style.css.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import streamlit as st

from explorer.trace.colours import FIGURE_TEXT
from explorer.trace.examples import Example
from explorer.ui.common.examples_list import PROGRAM, examples_list

_LINE, _TOP, _NUMBERED, _GUTTER_WIDTH = 20, 8, 400, 36
#: The text area is as high as its program, within these bounds, in lines.
_LEAST, _MOST = 7, 13
#: The colour of a line that failed, and of the chosen one.
COLOURS = {
    kind: f"color-mix(in srgb, var(--ax-{hue}) 22%, transparent)"
    for kind, hue in (("error", "red"), ("selected", "blue"))
}


def gutter() -> str:
    """The line numbers as a CSS image, `--ax-gutter` in the styles."""
    texts = "".join(f"<text x='28' y='{_LINE * n - 6}'>{n}</text>" for n in range(1, _NUMBERED + 1))
    svg = (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='36' height='{_LINE * _NUMBERED}'>"
        f"<g font-family='monospace' font-size='11' fill='{FIGURE_TEXT}' text-anchor='end'>"
        f"{texts}</g></svg>"
    )
    return f'url("data:image/svg+xml,{quote(svg)}")'


_lines = st.components.v2.component(
    "editor_lines",
    js=Path(__file__).with_name("editor_lines.js").read_text(encoding="utf-8"),
)


def editor(examples: Sequence[Example]) -> tuple[str, Any]:
    """Draw the list of examples and the text area. Returns the program, and the row of the list,
    which has room for tools.

    The program is kept in the link (`?program=`), so the link reproduces it; otherwise it is the
    first example.
    """
    text = st.session_state.get(PROGRAM) or st.query_params.get(PROGRAM) or examples[0].source
    lines = text.rstrip().count("\n") + 1
    height = _LINE * min(max(lines, _LEAST), _MOST) + 2 * _TOP + 2
    top = st.container(horizontal=True, vertical_alignment="center", gap="xsmall")
    with st.container(key="editor", gap=None):
        source = st.text_area(
            "Program",
            examples[0].source,
            height=height,
            key=PROGRAM,
            bind="query-params",
            persist_state="session",
            label_visibility="collapsed",
            help="Ctrl+Enter runs it, Tab leaves it. Click a line number to mark what that line "
            "made.",
        )
        source = source or ""
    with top:
        examples_list(examples, source)
    return source, top


def draw_lines(
    on_click: Callable[[int], None], *, error: int | None = None, selected: int | None = None
) -> None:
    """Mark lines of the program, counted from 1; `on_click` is called with a line when its number
    is clicked."""
    key = "lines"
    marked = {"error": error, "selected": selected}
    _lines(
        key=key,
        data={
            "editor": "editor",
            "gutter": _GUTTER_WIDTH,
            "top": _TOP,
            "height": _LINE,
            "marks": [[COLOURS[kind], line] for kind, line in marked.items() if line],
        },
        on_line_change=lambda: on_click(st.session_state[key].line),
    )
