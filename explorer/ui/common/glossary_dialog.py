"""The glossary, opened from any page: the terms of the field, and what a program may use."""

from __future__ import annotations

from html import escape
from pathlib import Path

import streamlit as st

from explorer.language import Entry, reference
from explorer.trace.terms import Term
from explorer.ui.common.glossary import GLOSSARY
from explorer.ui.common.pages import Page
from explorer.ui.common.reconnect import keep, restore_once

#: The most names of a group that are listed, and the most that are listed with a description.
_MOST, _DESCRIBED = 60, 12
#: The page whose glossary is open, and at which term. It stays open while the page reruns on a
#: timer, as during playback.
_OPEN = "lookup-open"


_clicks = st.components.v2.component(
    "word_clicks",
    js=Path(__file__).with_name("word_clicks.js").read_text(encoding="utf-8"),
)


@st.fragment
def glossary_button(page: Page) -> None:
    """Draw the button that opens the glossary, the page's own terms first.

    The glossary also opens at any term the reader clicks (`glossary.term_link`). It is a fragment:
    the page does not run again."""
    pressed = st.button(
        "Glossary",
        icon=":material/menu_book:",
        type="tertiary",
        key="lookup",
        help="Terms used on this page, and the functions programs can use",
    )
    clicked = _clicks(key="words", data={}, width=1, on_word_change=lambda: None).word
    term = known(clicked)
    if pressed or term:
        st.session_state.asked = ""  # not what was searched for the last time
        st.session_state[_OPEN] = (page.key, term)
    restore_once(_OPEN, lambda kept: (page.key, known(kept)))
    open_on, term = st.session_state.get(_OPEN, ("", None))
    if open_on == page.key:
        keep(_OPEN, term.key if term else "")
        _dialog(page, term)
    else:
        _close()


def known(clicked: object) -> Term | None:
    """The term of this key. The browser sends the key, so it may be anything."""
    return GLOSSARY.get(clicked) if isinstance(clicked, str) else None


def _close() -> None:
    st.session_state.pop(_OPEN, None)


@st.dialog("Terms and functions", width="large", on_dismiss=_close)
def _dialog(page: Page, term: Term | None) -> None:
    """The term asked for, if there is one, then all of them."""
    if term:
        st.html(f'<dl class="ax-words ax-asked">{_entry(term)}</dl>')
    draw_glossary(page, key="asked")


def draw_glossary(page: Page, *, key: str) -> None:
    """The terms and functions, with a search."""
    asked = st.text_input(
        "Search",
        key=key,
        placeholder="leaf, conv2d, softmax …",
        help="Shows only the terms and names that contain this text",
    )
    terms, functions = st.tabs(["Terms", "Functions and names"])
    terms.html(terms_html(asked or "", page))
    functions.html(functions_html(asked or ""))


def terms_html(query: str, page: Page) -> str:
    """The glossary's entries that contain the query, those of the page first."""
    wanted = query.strip().lower()
    terms = [t for t in GLOSSARY.values() if wanted in " ".join((t.title, t.text, *t.also)).lower()]
    own = [term for term in terms if term.key in page.terms]
    rest = [term for term in terms if term not in own]
    parts = {"On this page": own, "Elsewhere" if page.terms else "Terms": rest}
    lists = "".join(_list(title, part) for title, part in parts.items() if part)
    return lists or _no_match(query)


def _list(title: str, terms: list[Term]) -> str:
    rows = "".join(map(_entry, terms))
    return f'<div class="ax-label">{title}</div><dl class="ax-words">{rows}</dl>'


def _entry(term: Term) -> str:
    return f"<dt>{escape(term.title)}</dt><dd>{escape(term.text)}</dd>"


def functions_html(query: str) -> str:
    """Names a program may use that contain the query, by group; short lists describe them."""
    wanted = query.strip().lower()
    parts = []
    for group in reference():
        entries = [entry for entry in group.entries if wanted in entry.name.lower()]
        if not entries:
            continue
        if len(entries) <= _DESCRIBED:
            rows = [f"<div>{_name(e)} {escape(e.description)}</div>" for e in entries]
            listed = "".join(rows)
        else:
            more = f" and {len(entries) - _MOST} more" if len(entries) > _MOST else ""
            listed = ", ".join(map(_name, entries[:_MOST])) + more
        parts.append(f"<dt>{escape(group.title)}</dt><dd>{listed}</dd>")
    return f'<dl class="ax-words">{"".join(parts)}</dl>' if parts else _no_match(query)


def _name(entry: Entry) -> str:
    """The name; what it does is shown when the pointer is over it."""
    return f'<code title="{escape(entry.description)}">{escape(entry.name)}</code>'


def _no_match(query: str) -> str:
    return f'<div class="ax-note">No entry contains “{escape(query)}”.</div>'
