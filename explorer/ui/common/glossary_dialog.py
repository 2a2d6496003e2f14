"""Look something up on any page: the words of the field, and what the language has."""

from __future__ import annotations

from html import escape
from pathlib import Path

import streamlit as st

from explorer.language import Entry, reference
from explorer.trace.terms import Term
from explorer.ui.common.glossary import ON_PAGE, WORDS

#: Names of a group that are shown, and up to how many are described beside them.
_MOST, _DESCRIBED = 60, 12
#: The page whose glossary is open, and at which word: a page that runs again by the clock, as
#: while something is played, leaves it open.
_OPEN = "lookup-open"


_clicks = st.components.v2.component(
    "word_clicks",
    js=Path(__file__).with_name("word_clicks.js").read_text(encoding="utf-8"),
)


@st.fragment
def lookup(page: str) -> None:
    """The button that opens the glossary, the words of the page first. It also opens at any word
    that stands on the page (`words.word`). A fragment: looking up does not run the page again."""
    pressed = st.button(
        "Glossary",
        icon=":material/menu_book:",
        type="tertiary",
        key="lookup",
        help="The words on this page, and what a program may use",
    )
    clicked = _clicks(key="words", data={}, on_word_change=lambda: None).word
    term = known(clicked)
    if pressed or term:
        st.session_state.asked = ""  # not what was searched for the last time
        st.session_state[_OPEN] = (page, term)
    of, term = st.session_state.get(_OPEN, ("", None))
    if of == page:
        _dialog(page, term)
    else:
        _close()


def known(clicked: object) -> Term | None:
    """The word of this key; the browser says it, so it may be anything."""
    return WORDS.get(clicked) if isinstance(clicked, str) else None


def _close() -> None:
    st.session_state.pop(_OPEN, None)


@st.dialog("Words and functions", width="large", on_dismiss=_close)
def _dialog(page: str, term: Term | None) -> None:
    """The word asked for, if there is one, then all of them."""
    if term:
        st.html(f'<dl class="ax-words ax-asked">{_entry(term)}</dl>')
    asked = st.text_input(
        "Search",
        key="asked",
        placeholder="leaf, conv2d, softmax …",
        help="Keeps the words and names that hold this text",
    )
    words, functions = st.tabs(["Words", "Functions and names"])
    words.html(terms_html(asked or "", page))
    functions.html(functions_html(asked or ""))


def terms_html(asked: str, page: str) -> str:
    """The glossary's entries that hold the text asked for, those of the page first."""
    wanted = asked.strip().lower()
    found = [t for t in WORDS.values() if wanted in " ".join((t.title, t.text, *t.also)).lower()]
    here = [t for t in found if t.key in ON_PAGE[page]]
    parts = {"On this page": here, "Elsewhere": [t for t in found if t not in here]}
    lists = "".join(_list(title, terms) for title, terms in parts.items() if terms)
    return lists or _nothing(asked)


def _list(title: str, terms: list[Term]) -> str:
    rows = "".join(map(_entry, terms))
    return f'<div class="ax-label">{title}</div><dl class="ax-words">{rows}</dl>'


def _entry(term: Term) -> str:
    return f"<dt>{escape(term.title)}</dt><dd>{escape(term.text)}</dd>"


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
