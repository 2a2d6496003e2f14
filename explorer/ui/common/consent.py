"""Where the kernel has no walls, a program runs with its reader's rights: one that came with a link
or a file waits until its reader has seen it and presses a button."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

import streamlit as st

from explorer import sandbox
from explorer.ui.common.texts import TEXTS
from explorer.ui.common.widgets import forget_first_query

#: In the session: the texts that somebody else may have written, each with how it came;
#: whether it has begun; and the file that was opened last.
_FOREIGN, _BEGUN, _OPENED = "consent.foreign", "consent.begun", "consent.opened"
#: The key of the component that opens files (open_file.py).
OPEN_FILE = "open-file"
#: Kinds of characters that are not seen, or change what is seen of others.
_UNSEEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


def wait_for_consent() -> None:
    """Show what would run, and end the page's run until the reader wants it. What the session
    begins with came with a link, and what a component reports with a file; all else is typed."""
    if not sandbox.missing():
        return
    state = st.session_state
    if _BEGUN not in state:
        state[_BEGUN] = True
        mark_foreign("came with a link", map(st.query_params.get, TEXTS))
    opened = getattr(state.get(OPEN_FILE), "opened", None)
    if opened and opened != state.get(_OPENED):
        state[_OPENED] = opened
        mark_foreign("came with a file", (opened,))
    known = state.get(_FOREIGN, {})
    foreign = {text: known[text] for text in _texts() if text in known}
    if foreign:
        _ask(foreign)
        st.stop()


def mark_foreign(how: str, texts: Iterable[str | None]) -> None:
    """These texts may be somebody else's; `how` they came, as "came with a link"."""
    if sandbox.missing():
        new = {_read(text): how for text in texts if text}
        st.session_state.setdefault(_FOREIGN, {}).update(new)


def _texts() -> list[str]:
    """Those that the page may run: in its fields, and in its address, from which Streamlit fills
    the fields when the reader goes back."""
    given = (
        text for key in TEXTS for text in (st.session_state.get(key), st.query_params.get(key))
    )
    return list(dict.fromkeys(_read(text) for text in given if text))


def _read(text: str) -> str:
    """As a text area gives it back."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _ask(foreign: dict[str, str]) -> None:
    how = " and ".join(dict.fromkeys(foreign.values()))
    st.html(
        f'<div class="ax-note">This program {how}. It would run with your rights: read it first.'
        "</div>"
    )
    for text in foreign:
        st.code("".join(map(_visible, text)), language="python", wrap_lines=True)
    with st.container(horizontal=True):
        st.button("Run it", type="primary", on_click=_accept, args=(list(foreign),))
        st.button("Discard it", on_click=_discard, args=(list(foreign),))


def _visible(character: str) -> str:
    is_seen = character in "\n\t" or unicodedata.category(character) not in _UNSEEN
    return character if is_seen else f"\\u{{{ord(character):x}}}"


def _accept(texts: list[str]) -> None:
    for text in texts:
        st.session_state[_FOREIGN].pop(text, None)


def _discard(texts: list[str]) -> None:
    """The page begins anew without them; should they come back, they wait again."""
    for key in TEXTS:
        if _read(st.query_params.get(key) or "") in texts:
            del st.query_params[key]
        if _read(st.session_state.get(key) or "") in texts:
            del st.session_state[key]
    forget_first_query()
