"""The program editor: a native text area, and a component that makes an editor for code of it.

The component (editor.js) draws the text in colour on a layer behind the text area, whose own text
is then transparent, and adds what a text area lacks: indentation, pairs of brackets, numbers that
can be dragged, marked lines. What it writes can be undone. After a pause in typing it commits the
text as Ctrl+Enter does. Line heights agree with editor.css and editor.js.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


_HERE = Path(__file__).parent
_SCRIPTS = ("python_tokens.js", "editor_keys.js", "editor_numbers.js", "editor.js")
_code = st.components.v2.component(
    "program_editor", js="".join((_HERE / name).read_text("utf-8") for name in _SCRIPTS)
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
            help="Ctrl+Enter runs it. Drag a number to change it. Tab indents; Escape, then Tab "
            "leaves. Click a line number to mark what that line made.",
        )
        source = source or ""
    with top:
        examples_list(examples, source)
    return source, top


def draw_lines(
    on_click: Callable[[int], None],
    *,
    error: int | None = None,
    selected: int | None = None,
    ends: Mapping[int, str] | None = None,
) -> None:
    """Colour the program and mark lines of it, counted from 1. `on_click` is called with a line
    when its number is clicked; `ends` are texts to show at the ends of lines, such as values."""
    key = "lines"
    _code(
        key=key,
        data={
            "editor": "editor",
            "run": "run",
            "gutter": _GUTTER_WIDTH,
            "marks": {"error": error, "selected": selected},
            "ends": {str(line): text for line, text in (ends or {}).items()},
        },
        on_line_change=lambda: on_click(st.session_state[key].line),
    )
