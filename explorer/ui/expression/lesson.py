"""A lesson: a title, a question and a gradient to guess first. All of it lives in the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from explorer.trace import Trace
from explorer.ui.common.render_dot import digest
from explorer.ui.common.widgets import menu
from explorer.ui.expression import predict

_REVEALED = "revealed"
#: The key of the menu, and what the address holds of a lesson.
_MENU = "lesson"
_TITLE, _QUESTION, _HIDE, _TARGET = "title", "question", "predict", "target"
_MOST = {_TITLE: 80, _QUESTION: 300, _TARGET: 60}
#: The address's part while the reader is on another page, whose links lead back without it.
_KEPT = "lesson-kept"


@dataclass(frozen=True)
class Lesson:
    """What a teacher asks. `target` is the tensor whose gradient is to be guessed; None: nothing
    is hidden."""

    title: str = ""
    question: str = ""
    target: str | None = None


def teacher(trace: Trace) -> Lesson:
    """The lesson in the address, and a menu that writes it there."""
    _return()
    held = {key: st.query_params.get(key, "")[:most] for key, most in _MOST.items()}
    hide = st.query_params.get(_HIDE) == "true"
    names = [record.name for record in predict.targets(trace)]
    place = menu(
        "Lesson",
        icon="school",
        key=_MENU,
        help="Adds a title, a question and a gradient to guess to this page's link",
    )
    if place is not None:
        with place:
            _ask(held, hide, names)
    wanted = held[_TARGET] if held[_TARGET] in names else next(iter(names), None)
    return Lesson(held[_TITLE], held[_QUESTION], wanted if hide else None)


def _ask(held: dict[str, str], hide: bool, names: Sequence[str]) -> None:
    st.html(
        '<div class="ax-note">What you write here stands in the address of this page. Copy the '
        "address: it opens this program with your question.</div>"
    )
    _text("Title", _TITLE, held, help="Stands above the program")
    _text("Question", _QUESTION, held, help="Stands beside the title")
    st.toggle(
        "Hide gradients until they are guessed",
        hide,
        key=f"{_MENU}-{_HIDE}",
        on_change=_write,
        args=(_HIDE,),
        help="Readers of the link see no gradient before they have written theirs",
    )
    _text(
        "Tensor whose gradient is to be guessed",
        _TARGET,
        held,
        placeholder=names[0] if names else "",
        disabled=not hide,
        help="Its name in the program; empty: the first leaf",
    )


def _text(label: str, key: str, held: dict[str, str], **options: Any) -> None:
    st.text_input(
        label,
        held[key],
        key=f"{_MENU}-{key}",
        max_chars=_MOST[key],
        on_change=_write,
        args=(key,),
        **options,
    )


def _write(key: str) -> None:
    """Put a field into the address, which a widget that is not always drawn loses by itself."""
    value = st.session_state[f"{_MENU}-{key}"]
    if value:
        st.query_params[key] = "true" if value is True else value
    else:
        st.query_params.pop(key, None)
    st.session_state[_KEPT] = _asked()


def _asked() -> dict[str, str]:
    """What the address holds of a lesson."""
    return {key: st.query_params[key] for key in (*_MOST, _HIDE) if key in st.query_params}


def _return() -> None:
    """Keep the lesson, and put it back into the address of a reader who was on another page:
    gradients that were hidden stay so."""
    asked = _asked()
    if asked:
        st.session_state[_KEPT] = asked
    elif st.session_state.get(_KEPT):
        st.query_params.update(st.session_state[_KEPT])  # at once: one place in the history


def banner(lesson: Lesson) -> None:
    """The lesson's title and question; a stranger wrote them."""
    if lesson.title or lesson.question:
        title = f"<b>{escape(lesson.title)}</b> " if lesson.title else ""
        st.html(f'<div class="ax-lesson">{title}{escape(lesson.question)}</div>')


def guess(lesson: Lesson, trace: Trace) -> bool:
    """Ask for the guess, or compare it once it was made; whether gradients may be seen."""
    if lesson.target is None:
        return True
    record = next((r for r in predict.targets(trace) if r.name == lesson.target), None)
    if record is None:
        return True
    name = digest(f"{trace.source}\0{lesson.target}")
    of, text = st.session_state.get(_REVEALED, ("", ""))
    if of == name:
        said = predict.verdict(predict.numbers(text), record)  # type: ignore[arg-type]
        st.html(
            f'<div class="ax-lesson">You wrote <code>{escape(text)}</code>. {escape(said)}</div>'
        )
        return True
    with st.form("guess", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            f"The gradient of {_plain(record.name)}",
            key=f"guess-{name}",
            placeholder="such as [1, 2], or None",
            max_chars=400,
            help="As PyTorch writes it: a number, or numbers in brackets",
        )
        pressed = st.form_submit_button(
            "Compare", type="primary", help="Shows every gradient, and how near yours is"
        )
    if pressed and predict.numbers(text or "") is None:
        st.html('<div class="ax-note">Write numbers, such as 3 or [[1, 2]], or None.</div>')
    elif pressed:
        st.session_state[_REVEALED] = (name, text)
        st.rerun()
    st.html('<div class="ax-note">Gradients are hidden until you have written yours.</div>')
    return False


def _plain(name: str) -> str:
    """A stranger's name as a label, which Streamlit reads as Markdown."""
    return "".join(c if c.isalnum() or c in " ." else f"\\{c}" for c in name)
