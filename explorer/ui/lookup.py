"""Look something up: the words of the answers, and what the language has."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape

import streamlit as st

from explorer.language.vocabulary import entries
from explorer.trace.glossary import TERMS

_MOST = 60


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
    """Names a program may use that hold the text, by group."""
    wanted = asked.strip().lower()
    parts = []
    for title, names in _groups().items():
        found = [name for name in names if wanted in name.lower()]
        if found:
            more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
            listed = ", ".join(f"<code>{escape(name)}</code>" for name in found[:_MOST])
            parts.append(f"<dt>{escape(title)}</dt><dd>{listed}{more}</dd>")
    return f'<dl class="ax-words">{"".join(parts)}</dl>' if parts else _nothing(asked)


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    return _grouped((title, name) for title, name, _ in entries())


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for title, name in pairs:
        groups.setdefault(title, []).append(name)
    return {title: tuple(names) for title, names in groups.items()}


def _nothing(asked: str) -> str:
    return f'<div class="ax-note">Nothing here is called {escape(asked)}.</div>'
