"""Where the kernel has no walls, a program runs with its reader's rights: one that came with a link
or a file waits until its reader has seen it and presses a button."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Literal

import streamlit as st

from explorer import sandbox
from explorer.lessons import lessons
from explorer.ui.pages import TEXTS
from explorer.ui.widgets.basics import forget_in_query, note

#: In the session: the texts that somebody else may have written, each with how it came;
#: whether it has begun; and the file that was opened last.
_FOREIGN, _BEGUN, _OPENED = "consent.foreign", "consent.begun", "consent.opened"
#: The key of the component that opens files (editor.py).
OPEN_FILE = "open-file"
#: Kinds of characters that are not seen, or change what is seen of others.
_UNSEEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}
#: Letters and marks that are drawn as nothing; of
#: https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt, Default_Ignorable.
_EMPTY = (
    range(0x34F, 0x350), range(0x115F, 0x1161), range(0x17B4, 0x17B6), range(0x180B, 0x1810),
    range(0x3164, 0x3165), range(0xFE00, 0xFE10), range(0xFFA0, 0xFFA1), range(0xE0100, 0xE01F0),
)  # fmt: skip
#: A program of more lines than this is shown in a box of this height in pixels, which scrolls: the
#: buttons stay near.
_LINES, _HEIGHT = 25, 560


def wait_for_consent() -> None:
    """Show what would run, and end the page's run until the reader wants it. What the session
    begins with came with a link, and what a component reports with a file; all else is typed."""
    if not sandbox.missing():
        return
    state = st.session_state
    if _BEGUN not in state:
        state[_BEGUN] = True
        mark_foreign(
            "is in the address, so it may have come with a link", map(st.query_params.get, TEXTS)
        )
    opened = getattr(state.get(OPEN_FILE), "opened", None)
    if opened and opened != state.get(_OPENED):
        state[_OPENED] = opened
        mark_foreign("came with a file", (opened,))
    known = state.get(_FOREIGN, {})
    foreign = {text: key for key in TEXTS for text in _texts_of(key) if text in known}
    if foreign:
        _ask(foreign, " and ".join(dict.fromkeys(map(known.__getitem__, foreign))))
        st.stop()


def mark_foreign(how: str, texts: Iterable[str | None]) -> None:
    """These texts may be somebody else's, but for those of our lessons; `how` they came, as "came
    with a file"."""
    if sandbox.missing():
        ours = {step.program for lesson in lessons().values() for step in lesson.steps}
        new = {_read(text): how for text in texts if text and _read(text) not in ours}
        st.session_state.setdefault(_FOREIGN, {}).update(new)


def _texts_of(key: str) -> list[str]:
    """Those that the page may run: in its field, and in its address, from which Streamlit fills the
    field when the reader goes back."""
    given = (st.session_state.get(key), st.query_params.get(key))
    return [_read(text) for text in given if text]


def _read(text: str) -> str:
    """As a text area gives it back."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _ask(foreign: Mapping[str, str], how: str) -> None:
    """Show these texts, each with its key, and two buttons."""
    st.header("Read this program first")
    note(
        f"It {how}. It would run with your rights: on this computer nothing keeps it from your "
        "files."
    )
    for text, key in foreign.items():
        if len(foreign) > 1:
            note(f"{key.capitalize()}:")
        shown = "".join(map(_visible, text))
        height: int | Literal["content"] = _HEIGHT if shown.count("\n") > _LINES else "content"
        st.code(shown, "python", line_numbers=True, wrap_lines=True, height=height)
    with st.container(horizontal=True):
        st.button("Run it", type="primary", on_click=_accept, args=(list(foreign),))
        st.button("Discard it", on_click=_discard, args=(list(foreign),))


def _visible(character: str) -> str:
    is_seen = character in "\n\t " or not (
        unicodedata.category(character) in _UNSEEN or any(ord(character) in r for r in _EMPTY)
    )
    return character if is_seen else f"\\u{{{ord(character):x}}}"


def _accept(texts: list[str]) -> None:
    for text in texts:
        st.session_state[_FOREIGN].pop(text, None)


def _discard(texts: list[str]) -> None:
    """The page begins anew without them; should they come back, they wait again."""
    for key in TEXTS:
        if any(text in texts for text in _texts_of(key)):
            forget_in_query(key)
