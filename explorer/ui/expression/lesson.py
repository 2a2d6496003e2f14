"""A lesson: a title, a question and a gradient to predict first. All of it is kept in the link.

Until then the page draws a trace without its gradients; a prediction is compared with the real one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import streamlit as st

from explorer import limits
from explorer.program.parsing import parse_literal
from explorer.trace import Array, Summary, TensorRecord, Trace
from explorer.trace.text import digest
from explorer.ui.expression.gradient_check import own_rule_answers
from explorer.ui.expression.program import ProgramRun
from explorer.ui.widgets.basics import menu
from explorer.ui.widgets.reconnect import keep, restore_once
from explorer.view import values

_REVEALED = "revealed"
#: The key of the menu, and the lesson's query parameters.
_MENU = "lesson"
_TITLE, _QUESTION, _HIDE, _TARGET = "title", "question", "predict", "target"
_MOST = {
    _TITLE: limits.LESSON_TITLE,
    _QUESTION: limits.LESSON_QUESTION,
    _TARGET: limits.LESSON_TARGET,
}
#: The lesson while the reader is on another page, whose links lead back without it.
_KEPT = "lesson-kept"
#: How close a prediction must be, relative and absolute: the digits that are shown.
_RELATIVE, _ABSOLUTE = 5e-3, 1e-6


@dataclass(frozen=True)
class Lesson:
    """What a teacher asks. `target` is the tensor whose gradient is to be predicted; None: nothing
    is hidden."""

    title: str = ""
    question: str = ""
    target: str | None = None


def apply_lesson(run: ProgramRun, toolbar: Any) -> tuple[ProgramRun, Lesson]:
    """The lesson in the link, its menu (in `toolbar`) and its question; the run with its gradients
    hidden until the reader has predicted one."""
    with toolbar:
        lesson = _lesson(run.trace)
    _banner(lesson)
    if run.running and lesson.target is None:
        return run, lesson
    if not run.running and _predicted(lesson, run.trace):
        return replace(run, own_rules=own_rule_answers(run.trace, run.upstream)), lesson
    return replace(run, trace=without_gradients(run.trace), hidden=True), lesson


def _lesson(trace: Trace) -> Lesson:
    """The lesson in the link, and a menu that writes it there."""
    _restore()
    fields = {key: st.query_params.get(key, "")[:most] for key, most in _MOST.items()}
    hide = st.query_params.get(_HIDE) == "true"
    names = [record.name for record in targets(trace)]
    place = menu(
        "Make a lesson",
        key=_MENU,
        help="Adds a title, a question and a gradient to predict to this page's link",
    )
    if place is not None:
        with place:
            _draw_fields(fields, hide, names)
    wanted = fields[_TARGET] if fields[_TARGET] in names else next(iter(names), None)
    return Lesson(fields[_TITLE], fields[_QUESTION], wanted if hide else None)


def _draw_fields(fields: dict[str, str], hide: bool, names: Sequence[str]) -> None:
    st.html(
        '<div class="ax-note">Your text is saved in this page\'s link. Copy the link: it opens '
        "this program with your question.</div>"
    )
    _text("Title", _TITLE, fields, help="Shown above the program")
    _text("Question", _QUESTION, fields, help="Shown next to the title")
    st.toggle(
        "Hide gradients until predicted",
        hide,
        key=f"{_MENU}-{_HIDE}",
        on_change=_write,
        args=(_HIDE,),
        help="Readers of the link see no gradient until they have entered a prediction",
    )
    _text(
        "Gradient to predict",
        _TARGET,
        fields,
        placeholder=names[0] if names else "",
        disabled=not hide,
        help="The name of a tensor in the program. Leave empty for the first leaf",
    )


def _text(label: str, key: str, fields: dict[str, str], **arguments: Any) -> None:
    st.text_input(
        label,
        fields[key],
        key=f"{_MENU}-{key}",
        max_chars=_MOST[key],
        on_change=_write,
        args=(key,),
        **arguments,
    )


def _write(key: str) -> None:
    """Write a field into the link. A bound widget would drop it whenever the menu is closed."""
    value = st.session_state[f"{_MENU}-{key}"]
    if value:
        st.query_params[key] = "true" if value is True else value
    else:
        st.query_params.pop(key, None)
    st.session_state[_KEPT] = _in_link()


def _in_link() -> dict[str, str]:
    """What the link holds of a lesson."""
    return {key: st.query_params[key] for key in (*_MOST, _HIDE) if key in st.query_params}


def _restore() -> None:
    """Keep the lesson, and restore it to the link of a reader who comes back from another page,
    so that hidden gradients stay hidden."""
    in_link = _in_link()
    if in_link:
        st.session_state[_KEPT] = in_link
    elif st.session_state.get(_KEPT):
        st.query_params.update(st.session_state[_KEPT])  # at once: one place in the history


def _banner(lesson: Lesson) -> None:
    """The lesson's title and question; a stranger wrote them."""
    if lesson.title or lesson.question:
        title = f"<b>{escape(lesson.title)}</b> " if lesson.title else ""
        st.html(f'<div class="ax-lesson">{title}{escape(lesson.question)}</div>')


def _predicted(lesson: Lesson, trace: Trace) -> bool:
    """Ask for a prediction, or compare it with the gradient; whether gradients may be seen."""
    if lesson.target is None:
        return True
    record = next((r for r in targets(trace) if r.name == lesson.target), None)
    if record is None:
        return True
    name = digest(f"{trace.source}\0{lesson.target}")
    restore_once(_REVEALED, _read_revealed)
    revealed, text = st.session_state.get(_REVEALED, ("", ""))
    if revealed == name:
        keep(_REVEALED, [revealed, text])
        verdict = compare(parse_prediction(text), record)  # type: ignore[arg-type]
        entered = f"You entered <code>{escape(text)}</code>."
        st.html(f'<div class="ax-lesson">{entered} {escape(verdict)}</div>')
        return True
    with st.form("guess", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            f"The gradient of {_code(record.name)}",
            key=f"guess-{name}",
            placeholder="for example [1, 2], or None",
            max_chars=limits.PREDICTION,
            help="As PyTorch writes it: a number, or numbers in brackets",
        )
        pressed = st.form_submit_button(
            "Compare", type="primary", help="Shows every gradient, and how close yours is"
        )
    if pressed and parse_prediction(text or "") is None:
        st.html('<div class="ax-note">Enter numbers, such as 3 or [[1, 2]], or None.</div>')
    elif pressed:
        st.session_state[_REVEALED] = (name, text)
        st.rerun()
    st.html(
        '<div class="ax-note">Gradients are hidden until you have entered your prediction.</div>'
    )
    return False


def _read_revealed(kept: Any) -> tuple[str, str]:
    """The program and the prediction, as the browser kept them."""
    name, text = kept
    if not isinstance(name, str) or parse_prediction(text[: limits.PREDICTION]) is None:
        raise ValueError
    return name, text[: limits.PREDICTION]


def _code(name: str) -> str:
    """A stranger's name in a label, which Streamlit reads as Markdown: a word as it is, for screen
    readers get the label's source; anything else as code, in which nothing is a link or a picture,
    between more backticks than it has."""
    if name.isalnum():
        return name
    ticks = "`" * (1 + max(map(len, re.findall("`+", name)), default=0))
    return f"{ticks} {' '.join(name.split())} {ticks}"


def without_gradients(trace: Trace) -> Trace:
    """The trace without gradients and without anything that could reveal them: printed output,
    warnings, answers, events, later passes, the steps of backward, values made after it. Every
    part of the page draws this."""
    line = trace.passes[0].line if trace.passes and not trace.passes[0].ours else None
    tensors = (
        replace(t, grad=None, grad_from=None, why_none=None, value=_early(t, line))
        for t in trace.tensors
    )
    passes = (replace(p, steps=(), dot="") for p in trace.passes[:1])
    return replace(
        trace,
        output="",
        notes=(),
        answers=(),
        events=(),
        event_count=0,
        variables={},
        tensors=tuple(tensors),
        passes=tuple(passes),
        pass_count=min(trace.pass_count, 1),
        curves=(),
        figures=(),
    )


def _early(record: TensorRecord, backward: int | None) -> Array | None:
    """A tensor's value, unless it was made after the backward: it may be a gradient (`g = x.grad`)
    or have been moved by one."""
    late = backward is not None and ((record.line or 0) >= backward or record.origin.visit > 1)
    return None if late else record.value


def targets(trace: Trace) -> list[TensorRecord]:
    """Tensors whose gradient can be predicted: small ones that require grad, leaves first."""
    small = [
        t
        for t in trace.tensors
        if t.requires_grad and t.named and _size(t) <= limits.PREDICTED_NUMBERS
    ]
    latest = {t.name: t for t in small}
    return sorted(latest.values(), key=lambda t: not t.is_leaf)


def _size(record: TensorRecord) -> int:
    return int(np.prod(record.shape))


def parse_prediction(text: str) -> np.ndarray | None:
    """The numbers a reader entered, "None" as an empty array of objects; None if they are not
    numbers."""
    if text.strip() == "None":
        return np.array([], dtype=object)
    try:
        array = np.array(parse_literal(text.strip()))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return array.astype(float) if array.dtype.kind in "fiu" and array.size else None


def compare(guess: np.ndarray, record: TensorRecord) -> str:
    """How the prediction compares with the gradient, in one sentence or two."""
    truth = record.grad
    if truth is None or isinstance(truth, Summary):
        return "Correct: it has no gradient." if guess.dtype == object else "It has no gradient."
    says = f"The gradient of {record.name} is {values.text(truth)}."
    if guess.dtype == object:
        return f"It does have a gradient. {says}"
    if guess.size != truth.size:
        return f"You entered {guess.size} numbers, it has {truth.size}. {says}"
    predicted, real = guess.reshape(-1), np.asarray(truth, float).reshape(-1)
    near = np.isclose(predicted, real, _RELATIVE, _ABSOLUTE, equal_nan=True)
    if near.all():
        return f"Correct. {says}"
    return f"{_difference(predicted, real, near)} {says}"


def _difference(predicted: np.ndarray, real: np.ndarray, near: np.ndarray) -> str:
    if np.all(np.isfinite(real)) and np.all(real != 0):
        ratios = predicted / real
        factor = ratios[0]
        if factor != 0 and np.allclose(ratios, factor, _RELATIVE):
            if np.isclose(factor, -1, _RELATIVE):
                return "Only the sign is wrong."
            whole = factor if abs(factor) >= 1 else 1 / factor
            size = "too large" if abs(factor) > 1 else "too small"
            return f"Every number is {abs(whole):.4g} times {size}."
    return f"{int(near.sum())} of {near.size} numbers are correct."
