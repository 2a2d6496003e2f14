"""Look something up: the words of the answers, and what the language has."""

from __future__ import annotations

from html import escape

import streamlit as st

from explorer.language import Entry, reference
from explorer.trace.glossary import TERMS

#: Names of a group that are shown, and up to how many are described beside them.
_MOST, _DESCRIBED = 60, 12


def lookup_button() -> None:
    """A button that opens the words and the functions in a dialog."""
    if st.button(
        "", icon=":material/menu_book:", type="tertiary", key="lookup", help="Words and functions"
    ):
        _dialog()


@st.dialog("Words and functions", width="large")
def _dialog() -> None:
    asked = st.text_input(
        "Search", key="asked", placeholder="leaf, conv2d, softmax …", label_visibility="collapsed"
    )
    words, functions = st.tabs(["Words", "Functions and names"])
    words.html(terms_html(asked or ""))
    functions.html(functions_html(asked or ""))


def terms_html(asked: str) -> str:
    """The glossary's entries that hold the text asked for."""
    wanted = asked.strip().lower()
    found = [t for t in TERMS if wanted in f"{t.title} {t.text}".lower()]
    rows = "".join(f"<dt>{escape(t.title)}</dt><dd>{escape(t.text)}</dd>" for t in found)
    return f'<dl class="ax-words">{rows}</dl>' if found else _nothing(asked)


def functions_html(asked: str) -> str:
    """Names a program may use that hold the text, by group; few enough stand with what they do."""
    wanted = asked.strip().lower()
    parts = []
    for group in reference():
        found = [entry for entry in group.entries if wanted in entry.name.lower()]
        if not found:
            continue
        if len(found) <= _DESCRIBED:
            rows = [f"<div>{_name(e)} {escape(e.description)}</div>" for e in found]
            listed = "".join(rows)
        else:
            more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
            listed = ", ".join(map(_name, found[:_MOST])) + more
        parts.append(f"<dt>{escape(group.title)}</dt><dd>{listed}</dd>")
    return f'<dl class="ax-words">{"".join(parts)}</dl>' if parts else _nothing(asked)


def _name(entry: Entry) -> str:
    """The name; what it does is shown when the pointer is over it."""
    return f'<code title="{escape(entry.description)}">{escape(entry.name)}</code>'


def _nothing(asked: str) -> str:
    return f'<div class="ax-note">Nothing here is called {escape(asked)}.</div>'
