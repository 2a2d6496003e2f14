"""The program editor: a native text area, a component that makes an editor for code of it, and
above both the list of examples and the button that opens a file.

The component (editor.js) draws the text in colour on a layer behind the text area, whose own text
is then transparent, and adds what a text area lacks: indentation, pairs of brackets, numbers that
can be dragged, marked lines. What it writes can be undone. After a pause in typing it commits the
text as Ctrl+Enter does. Line heights agree with editor.css and editor.js.

An example or a file replaces the program: the editor hears of it in the browser, by the event
`ax-replace`, and can undo it. The browser reads a file and makes a text of it; the file itself is
never sent. Where nothing keeps a program from this machine, the text is sent ahead, so that it
waits until its reader has seen it (consent.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import quote_plus

import streamlit as st

from explorer import limits, sandbox
from explorer.trace.examples import Example
from explorer.ui.pages import PROGRAM
from explorer.ui.widgets.basics import note, renderer, while_drawn
from explorer.ui.widgets.consent import OPEN_FILE
from explorer.ui.widgets.copy_link import not_in_link
from explorer.view.component import load_component

#: In CSS pixels, as in editor.css: a line, and the space above the first.
_LINE, _TOP = 20, 8
#: The text area is as high as its program, within these bounds, in lines.
_LEAST, _MOST = 5, 13
#: What is said of a program that does not fit into a link.
TOO_LONG = "This program is too long for a link: the link of this page opens without it."
#: Whether the program was too long before, after its key.
_WAS_LONG = "was-long"

_code = renderer(load_component(__file__))
_examples = renderer(
    load_component(
        __file__,
        """
<button class="open" title="Replaces your program with an example; Ctrl+Z brings it back"
  aria-haspopup="listbox" aria-expanded="false">Examples</button>
<div class="panel" popover>
  <input type="search" placeholder="Search" aria-label="Search the examples" role="combobox"
    autocomplete="off" aria-expanded="true" aria-controls="list" aria-autocomplete="list">
  <div class="list" id="list" role="listbox" aria-label="Examples"></div>
  <div class="none" role="status" hidden>No example has all these words.</div>
</div>
""",
        name="examples_list",
    )
)
_open_file = renderer(
    load_component(
        __file__,
        """
<button type="button" class="open" title="Replaces your program with a .py file or a notebook;
Ctrl+Z brings it back. You can also drop the file on the editor">Open file</button>
<input type="file" accept=".py,.ipynb,.txt" hidden aria-label="Program or notebook">
<span class="said" role="status"></span>
""",
        name="open_file",
    )
)


def editor(examples: Sequence[Example], key: str = PROGRAM) -> tuple[str, Any]:
    """Draw the list of examples and the text area. Returns the program, and the row of the list,
    which has room for tools.

    The program is kept in the link under `key`, so the link reproduces it, unless it is too long
    for one; otherwise it is the first example.
    """
    text = st.session_state.get(key) or st.query_params.get(key) or examples[0].source
    lines = text.rstrip().count("\n") + 1
    height = height_of(min(max(lines, _LEAST), _MOST))
    fits = fits_in_link(text)
    if fits and st.session_state.pop(f"{key}-{_WAS_LONG}", False):
        st.query_params[key] = text  # the browser writes only what changes from now on
    top = st.container(horizontal=True, vertical_alignment="center", gap="xsmall")
    with st.container(key="editor", gap=None):
        source = st.text_area(
            "Program",
            examples[0].source,
            height=height,
            key=key,
            bind="query-params" if fits else None,
            persist_state="session",
            label_visibility="collapsed",
            help="Ctrl+Enter runs it. Drag a number to change it. Tab indents; Escape, then Tab "
            "leaves. Click a line number to mark what that line made.",
        )
        source = source or ""
        if not fits:
            st.session_state[f"{key}-{_WAS_LONG}"] = True
            st.query_params.pop(key, None)
            note(TOO_LONG)
            not_in_link(TOO_LONG)
    with top:
        _draw_examples(examples)
        _draw_open_file()
    return source, top


def _draw_examples(examples: Sequence[Example]) -> None:
    """Draw the button that opens the list. The browser knows which program is in the editor, so the
    list stays the same and is sent once."""
    groups = tuple(
        {
            "title": title,
            "examples": [
                {"title": e.title, "question": e.question, "source": e.source} for e in group
            ],
        }
        for title, group in groupby(examples, lambda example: example.group)
    )
    _examples(key="examples", data={"groups": groups}, width="content")


def _draw_open_file() -> None:
    """Draw the button that opens a file."""
    data = {
        "most": limits.MAX_SOURCE,
        "largest": limits.OPENED_FILE,
        "tells": bool(sandbox.missing()),
    }
    _open_file(key=OPEN_FILE, data=data, width="content", on_opened_change=lambda: None)


def draw_lines(
    on_click: Callable[[int], None],
    *,
    error: int | None = None,
    selected: int | None = None,
    ends: Mapping[int, str] | None = None,
    source: str = "",
    colours: Mapping[str, int] | None = None,
) -> None:
    """Colour the program and mark lines of it, counted from 1. `on_click` is called with a line
    when its number is clicked; `ends` are texts, such as values, shown at the ends of lines of
    `source` until the reader changes these lines, `colours` those of the names of leaves."""
    key, texts = "lines", ends or {}
    data = {
        "run": "run",
        "marks": {"error": error, "selected": selected},
        "colours": dict(colours or {}),
        "ends": {
            str(n): [line, texts[n]] for n, line in enumerate(source.split("\n"), 1) if n in texts
        },
    }
    _code(
        key=key,
        data={"editor": data},
        on_line_change=while_drawn(key, lambda: on_click(st.session_state[key].line)),
    )


def colour_areas(*keys: str) -> None:
    """Make editors of text areas, by the keys of their containers. Their texts run when they are
    left, or at Ctrl+Enter."""
    _code(key="-".join(keys), data={key: {"marks": {}, "ends": {}} for key in keys})


def fits_in_link(text: str) -> bool:
    """Whether a link can hold the text."""
    return len(quote_plus(text)) <= limits.LINK_PROGRAM


def height_of(lines: int) -> int:
    """The height of a text area for so many lines, with its border, in CSS pixels."""
    return _LINE * lines + 2 * _TOP + 2
