"""The list of examples above the editor, grouped and searchable: choosing one replaces the
program. The editor hears of it in the browser, by the event `ax-replace`, and can undo it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import streamlit as st

from explorer.trace.examples import Example
from explorer.ui.common.glossary import ELEMENTS

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "examples_list",
    html="""
<button class="open" title="Replaces your program with an example; Ctrl+Z brings it back"
  aria-haspopup="listbox" aria-expanded="false">Examples</button>
<div class="panel" popover>
  <input type="search" placeholder="Search" aria-label="Search the examples" role="combobox"
    autocomplete="off" aria-expanded="true" aria-controls="list" aria-autocomplete="list">
  <div class="list" id="list" role="listbox" aria-label="Examples"></div>
  <div class="none" role="status" hidden>No example has all these words.</div>
</div>
""",
    css=(_HERE / "examples_list.css").read_text(encoding="utf-8"),
    js=ELEMENTS + (_HERE / "examples_list.js").read_text(encoding="utf-8"),
)


def examples_list(examples: Sequence[Example]) -> None:
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
    _component(key="examples", data={"groups": groups}, width="content")
