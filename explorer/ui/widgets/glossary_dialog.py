"""The glossary, opened from any page: the terms of the field."""

from __future__ import annotations

from html import escape

import streamlit as st

from explorer.trace.terms import Term
from explorer.ui.pages import Page
from explorer.ui.widgets.basics import renderer
from explorer.ui.widgets.reconnect import keep, restore_once
from explorer.view.component import load_component
from explorer.view.glossary import GLOSSARY

#: The page whose glossary is open, and at which term. It stays open while the page reruns on a
#: timer, as during playback.
_OPEN = "lookup-open"

_clicks = renderer(load_component(__file__))


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
        help="The terms of this page, then all others",
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


@st.dialog("Terms", width="large", on_dismiss=_close)
def _dialog(page: Page, term: Term | None) -> None:
    """The term asked for, if there is one, then all of them."""
    if term:
        st.html(f'<dl class="ax-words ax-asked">{_entry(term)}</dl>')
    draw_glossary(page, key="asked")


def draw_glossary(page: Page, *, key: str) -> None:
    """The terms, with a search."""
    asked = st.text_input(
        "Search",
        key=key,
        placeholder="leaf, hook, saved tensor …",
        help="Shows only the terms that contain this text",
    )
    st.html(terms_html(asked or "", page))


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


def _no_match(query: str) -> str:
    return f'<div class="ax-note">No entry contains “{escape(query)}”.</div>'
