"""What a lesson asks on this page: a gradient to predict, or a factor to fill in, and the form that
makes such a lesson.

A lesson comes from a file (`lesson_strip`), or from the link alone: a title, a question and a
gradient. Until a gradient was predicted the page draws a trace without any; while a factor is asked
for, its edge shows "× ?".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import streamlit as st

from explorer import lessons, limits
from explorer.lessons import Exercise, LessonError, factor_exercise, gradient_exercise, parse_answer
from explorer.trace import Array, TensorRecord, Trace
from explorer.trace.text import digest
from explorer.ui.expression.gradient_check import own_rule_answers
from explorer.ui.expression.program import ProgramRun
from explorer.ui.expression.selection import Picker
from explorer.ui.widgets.basics import download_entry, formula, refuse
from explorer.ui.widgets.lesson_strip import current_step, first_address, see
from explorer.ui.widgets.reconnect import keep, restore_once
from explorer.view import step, values
from explorer.view.rule_names import named_rule

_REVEALED = "revealed"
#: The exercise whose hint is shown.
_HINT = "lesson.hint"
#: The key of the form, and the lesson's query parameters.
_MENU = "make-lesson"
_TITLE, _QUESTION, _HIDE, _TARGET = "title", "question", "predict", "target"
_MOST = {
    _TITLE: limits.LESSON_TITLE,
    _QUESTION: limits.LESSON_QUESTION,
    _TARGET: limits.LESSON_TARGET,
}
#: The lesson while the reader is on another page, whose links lead back without it.
_KEPT = "lesson-kept"


@dataclass(frozen=True)
class Lesson:
    """What is asked. `target` is the tensor whose gradient is to be predicted; None: nothing is
    hidden. `factor` is an edge, as "b -> a". `hint` is the number of a step of the walk; None for
    the step that sends the gradient. Once it `is_done`, nothing is hidden or asked again."""

    title: str = ""
    question: str = ""
    target: str | None = None
    factor: str | None = None
    hint: int | None = None
    is_done: bool = False


def apply_lesson(run: ProgramRun, more: Any) -> tuple[ProgramRun, Lesson]:
    """What the lesson asks of this run, and in `more` the form that makes one; the run with its
    gradients hidden until the reader has predicted one, or with the edge that is asked for."""
    with more:
        lesson = _lesson_in_link(run.trace)
    _banner(lesson)
    asked, is_done = current_step()
    if asked is not None:
        target, factor = asked.done.get("predict"), asked.done.get("factor")
        lesson = Lesson(
            target=target.removesuffix(".grad") if target else None,
            factor=factor,
            hint=asked.hint,
            is_done=is_done,
        )
    if run.running:
        if lesson.target is None or is_done:
            return run, lesson
        return _hidden(run), lesson
    if not run.failed:
        see(trace=run.trace)
    exercise = _exercise(lesson, run.trace)
    if exercise is None or _settled(exercise, lesson, run.trace):
        return replace(run, own_rules=own_rule_answers(run.trace, run.upstream)), lesson
    if lesson.target is not None:
        return _hidden(run), lesson
    return replace(run, asked=frozenset({exercise.edge})), lesson


def _hidden(run: ProgramRun) -> ProgramRun:
    return replace(run, trace=without_gradients(run.trace), hidden=True)


def _exercise(lesson: Lesson, trace: Trace) -> Exercise | None:
    if lesson.target is not None:
        return gradient_exercise(trace, lesson.target)
    return factor_exercise(trace, lesson.factor) if lesson.factor else None


def _lesson_in_link(trace: Trace) -> Lesson:
    """The lesson in the link, and a form that writes it there."""
    _restore()
    fields = {key: st.query_params.get(key, "")[:most] for key, most in _MOST.items()}
    hide = st.query_params.get(_HIDE) == "true"
    names = [record.name for record in targets(trace)]
    wanted = fields[_TARGET] if fields[_TARGET] in names else next(iter(names), None)
    place = st.expander("Make a lesson", key=_MENU, on_change="rerun")
    if place.open:
        with place:
            _draw_fields(fields, hide, names)
            _draw_file(fields, wanted if hide else None, trace.source)
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


def _draw_file(fields: dict[str, str], target: str | None, program: str) -> None:
    """The same as a file to download, and any lesson's file to open."""
    done = {"predict": f"{target}.grad"} if target else {"walked": True}
    title = fields[_TITLE] or "A lesson"
    question = fields[_QUESTION] or "What do you see?"
    one = lessons.Step(title, "expression", question, program, done=done)
    download_entry(
        "Lesson file",
        lambda: lessons.to_toml(lessons.Lesson("", title, "", (one,))).encode(),
        "lesson.toml",
        "application/toml",
        "A text file with this one step, to which you can add others",
    )
    file = st.file_uploader(
        "Open a lesson file",
        "toml",
        key="lesson-file",
        max_upload_size=1,
        help="The lesson becomes a link, which you can send; the file is not stored",
    )
    if file is None:
        return
    try:
        text = file.getvalue()[: 4 * limits.LESSON_FILE + 1].decode()
        opened = lessons.parse_lesson(text, file=file.name[:60])
    except UnicodeDecodeError:
        refuse(f"{file.name[:60]} is not a text file.")
    except LessonError as error:
        refuse(str(error))
    else:
        st.html(f'<a href="{escape(first_address(opened))}">Start “{escape(opened.title)}”</a>')


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


def _settled(exercise: Exercise, lesson: Lesson, trace: Trace) -> bool:
    """Ask for the answer, and judge it; whether it may be shown."""
    name = digest(f"{trace.source}\0{exercise.asked}")
    restore_once(_REVEALED, _read_revealed)
    revealed, text = st.session_state.get(_REVEALED, ("", ""))
    if revealed == name:
        keep(_REVEALED, [revealed, text])
        if text:
            see(answered=frozenset({exercise.asked}))
        st.html(f'<div class="ax-lesson">{escape(_verdict(exercise, text))}</div>')
        return True
    if lesson.is_done:
        return True
    what = "factor" if lesson.factor else "gradient"
    with st.form("guess", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            _label(exercise.asked),
            key=f"guess-{name}",
            placeholder="for example 3 or [1, 2]" + ", or None" * (what == "gradient"),
            max_chars=limits.PREDICTION,
            help="As PyTorch writes it: a number, or numbers in brackets",
        )
        st.form_submit_button("Compare", type="primary")
    answer = parse_answer(text or "")
    if text and answer is None:
        st.html('<div class="ax-note">Enter numbers, such as 3 or [[1, 2]], or None.</div>')
    elif answer is not None and exercise.is_right(answer):
        st.session_state[_REVEALED] = (name, text)
        st.rerun()
    elif answer is not None:
        st.html(f'<div class="ax-lesson" role="status">{escape(exercise.explain(answer))}</div>')
    _offer_help(exercise, lesson, trace, name, what)
    return False


def _offer_help(exercise: Exercise, lesson: Lesson, trace: Trace, name: str, what: str) -> None:
    """A hint, which is a step of the walk, and a way to give up."""

    def reveal() -> None:
        st.session_state[_REVEALED] = (name, "")

    shown = trace.passes[-1] if trace.passes else None
    place = exercise.step if lesson.hint is None else lesson.hint - 1
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if shown and place is not None and place < len(shown.steps):

            def hint() -> None:
                st.session_state[_HINT] = name
                Picker("expression", trace, shown, ()).step(place)

            st.button("Hint", key="hint", type="tertiary", on_click=hint)
        st.button(
            f"Show the {what}",
            key="reveal",
            type="tertiary",
            on_click=reveal,
            help="Shows the answer without counting the step as done",
        )
        if lesson.target is not None:
            st.html('<div class="ax-note">Until then all gradients are hidden.</div>')
    if st.session_state.get(_HINT) == name and shown and place is not None and lesson.target:
        hinted = shown.steps[place]
        node = next(node for node in shown.nodes if node.id == hinted.node)
        said = f"At {step.title(node, shown)}:"
        st.html(f'<div class="ax-note">{escape(said)}</div>')
        formula(named_rule(hinted, shown).formula)


def _label(asked: str) -> str:
    """The name of the field, which Streamlit reads as Markdown."""
    source, arrow, target = asked.partition(" -> ")
    if arrow:
        return f"The factor from {_code(source)} to {_code(target)}"
    return f"The gradient of {_code(asked.removesuffix('.grad'))}"


def _verdict(exercise: Exercise, text: str) -> str:
    """What is said once the answer is seen; a later run may have another one."""
    if exercise.truth is None:
        return "Correct: it has no gradient." if text else "It has no gradient."
    source, arrow, target = exercise.asked.partition(" -> ")
    what = f"factor from {source} to {target}" if arrow else f"gradient of {source[:-5]}"
    answer = parse_answer(text)
    right = "Correct. " if answer is not None and exercise.is_right(answer) else ""
    return f"{right}The {what} is {values.text(exercise.truth)}."


def _read_revealed(kept: Any) -> tuple[str, str]:
    """The exercise and the answer, as the browser kept them; the answer is empty if it was given
    up."""
    name, text = kept
    text = text[: limits.PREDICTION]
    if not isinstance(name, str) or (text and parse_answer(text) is None):
        raise ValueError
    return name, text


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
