"""Small parts that several sections of the page share."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import streamlit as st


def choice(label: str, key: str, options: list[str], help: str) -> str:
    """One of a few words, kept in the address; the first unless chosen otherwise."""
    chosen = st.segmented_control(
        label,
        options,
        default=options[0],
        required=True,
        key=key,
        bind="query-params",
        label_visibility="collapsed",
        help=help,
    )
    return chosen if chosen in options else options[0]


def download(
    make: Callable[[], bytes],
    file: str,
    help: str,
    *,
    key: str,
    label: str = "",
    mime: str = "image/png",
) -> None:
    """A quiet button; `make` is called when it is pressed."""
    st.download_button(
        label,
        make,
        file,
        mime,
        key=f"download-{key}",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        help=help,
    )


def note(sentence: str) -> None:
    """A quiet sentence, shown as text."""
    st.html(f'<div class="ax-note">{escape(sentence)}</div>')


def label(words: str) -> None:
    """The name of what follows."""
    st.html(f'<div class="ax-label">{escape(words)}</div>', width="content")


def refuse(sentence: str) -> None:
    """What went wrong and what to do, shown as text."""
    st.html(f'<div class="ax-error" role="alert">{escape(sentence)}</div>')


def count_below(key: str, count: int, start: int | None) -> None:
    """Before a number's widget: put back a kept number that no longer exists."""
    kept = st.session_state.get(key)
    if kept is not None and not 0 <= kept < count:
        st.session_state[key] = start
