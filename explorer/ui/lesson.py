"""A lesson: a title, a question and a gradient to guess first. All of it lives in the address."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import streamlit as st

from explorer.trace import Trace
from explorer.ui import predict
from explorer.ui.layout import digest

_REVEALED = "revealed"


@dataclass(frozen=True)
class Lesson:
    """What a teacher asks. `target` is the tensor whose gradient is to be guessed; None: nothing
    is hidden."""

    title: str = ""
    question: str = ""
    target: str | None = None


def teacher(trace: Trace) -> Lesson:
    """Ask for title, question and what to guess; the address bar is the lesson's link."""
    with st.popover(
        "Lesson",
        icon=":material/school:",
        type="tertiary",
        help="Adds a title, a question and a gradient to guess to this page's link",
    ):
        st.html(
            '<div class="ax-note">What you write here stands in the address of this page. Copy the '
            "address: it opens this program with your question.</div>"
        )
        title = st.text_input(
            "Title", key="title", bind="query-params", max_chars=80, help="Stands above the program"
        )
        question = st.text_input(
            "Question",
            key="question",
            bind="query-params",
            max_chars=300,
            help="Stands beside the title",
        )
        hide = st.toggle(
            "Hide gradients until they are guessed",
            key="predict",
            bind="query-params",
            help="Readers of the link see no gradient before they have written theirs",
        )
        names = [record.name for record in predict.targets(trace)]
        target = st.text_input(
            "Tensor whose gradient is to be guessed",
            key="target",
            bind="query-params",
            placeholder=names[0] if names else "",
            max_chars=60,
            disabled=not hide,
            help="Its name in the program; empty: the first leaf",
        )
    wanted = target if target in names else next(iter(names), None)
    return Lesson(title or "", question or "", wanted if hide else None)


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
