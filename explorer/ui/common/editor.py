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

import streamlit as st

from explorer.trace.examples import Example
from explorer.ui.common.examples_list import PROGRAM, examples_list

#: In CSS pixels, as in editor.css: a line, and the space above the first.
_LINE, _TOP = 20, 8
#: The text area is as high as its program, within these bounds, in lines.
_LEAST, _MOST = 5, 13

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
    height = height_of(min(max(lines, _LEAST), _MOST))
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
    source: str = "",
) -> None:
    """Colour the program and mark lines of it, counted from 1. `on_click` is called with a line
    when its number is clicked; `ends` are texts, such as values, shown at the ends of lines of
    `source` until the reader changes these lines."""
    key, texts = "lines", ends or {}
    data = {
        "run": "run",
        "marks": {"error": error, "selected": selected},
        "ends": {
            str(n): [line, texts[n]] for n, line in enumerate(source.split("\n"), 1) if n in texts
        },
    }
    _code(
        key=key,
        data={"editor": data},
        on_line_change=lambda: on_click(st.session_state[key].line),
    )


def colour_areas(*keys: str) -> None:
    """Make editors of text areas, by the keys of their containers. Their texts run when they are
    left, or at Ctrl+Enter."""
    _code(key="-".join(keys), data={key: {"marks": {}, "ends": {}} for key in keys})


def height_of(lines: int) -> int:
    """The height of a text area for so many lines, with its border, in CSS pixels."""
    return _LINE * lines + 2 * _TOP + 2
