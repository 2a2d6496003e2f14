"""What is said next to the program: its error, how it was read, and explanations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from explorer.sandbox import exit_reasons
from explorer.trace import Trace
from explorer.trace.examples import EXAMPLES, Example
from explorer.trace.explain.order import arrange, can_be_tried, is_about_error
from explorer.trace.proof.prove import REASONS, has_tries, untried
from explorer.trace.records import Answer
from explorer.ui.common import errors
from explorer.ui.common.fix import fix_html, room_html
from explorer.ui.common.glossary import optional_term_link
from explorer.ui.common.tries import known, proved
from explorer.ui.expression.lesson import Lesson
from explorer.ui.expression.program import LIVE, ProgramRun

_CODE = re.compile("`([^`]+)`")
#: How many sentences about the program are seen before the line is opened.
_SENTENCES = 2
#: How many answers are seen before the line is opened that counts the others.
MOST_SEEN = 3
#: As long as what a try showed.
_TRIED = "x" * 40


def remarks(run: ProgramRun) -> Any:
    """What there is to say about the program in the editor: its error, how it was read, and what
    was done in another way. Returns the place of the error, for `explanations`."""
    place = st.empty()
    if run.failure and exit_reasons.is_out_of_time(run.failure):
        place.html(
            f'<div class="ax-note">This program takes longer than {LIVE:g} s: press Run.</div>'
        )
    elif run.error:
        place.html(_error_html(run, known(run.latest)))
    if (run.trace.readings and not run.failure) or not (run.error or _is_as_typed(run.trace)):
        st.html(readings(run.trace))
    return place


def readings(trace: Trace) -> str:
    """How the text was understood and what was done in another way, in a line that opens to show
    all of it, and the program as it was run."""
    added = trace.completed.rstrip("\n").count("\n") - trace.source.rstrip("\n").count("\n")
    sentences = [sentence.rstrip(".") for sentence in trace.readings]
    if added > 0:
        sentences.insert(0, f"{added} line{'s were' if added > 1 else ' was'} added")
    parts = [_with_code(sentence) for sentence in sentences]
    summary, rest = " · ".join(parts[:_SENTENCES]) or "Shown as it was run", ""
    if len(parts) > _SENTENCES:
        summary += f" · {len(parts) - _SENTENCES} more"
        rest = f"<ul>{''.join(f'<li>{part}.</li>' for part in parts)}</ul>"
    if not _is_as_typed(trace):
        copy = f'<button type="button" class="ax-apply" data-copy="{escape(trace.completed)}">'
        program = escape(trace.completed.rstrip())
        rest += f'{copy}Copy</button><pre class="ax-printed">{program}</pre>'
    if not rest:
        return f'<div class="ax-note ax-readings">{summary}</div>'
    return f'<details class="ax-note ax-readings"><summary>{summary}</summary>{rest}</details>'


def _with_code(sentence: str) -> str:
    """A sentence, escaped; what it has between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escape(sentence))


def _is_as_typed(trace: Trace) -> bool:
    """Whether there is no other program to show than that in the editor."""
    return trace.completed.strip() in ("", trace.source.strip())


def explanations(run: ProgramRun, lesson: Lesson) -> Any:
    """Draw what is known of the explanations, and leave room for those that will be tried. Returns
    their place, for `try_explanations`."""
    place = st.empty()
    if shown := _explanations_html(run, lesson, known(run.latest)):
        place.html(shown)
    return place


def try_explanations(run: ProgramRun, lesson: Lesson, error_place: Any, place: Any) -> None:
    """Try what the explanations offer, and then show them. Called last: nothing waits for it."""
    waiting = st.empty()
    if run.hidden or known(run.latest) is not None:
        return
    tried = proved(run.latest, waiting, typing=run.live)
    if tried is None:
        return
    if run.error:
        error_place.html(_error_html(run, tried))
    place.html(_explanations_html(run, lesson, tried) or "<span></span>")


def _error_html(run: ProgramRun, tried: Trace | None) -> str:
    """The error, and the answers about it. An error of what is being typed is shown when the hand
    has rested."""
    error = run.error
    assert error is not None
    trace = untried(run.latest) if run.hidden else tried or run.latest
    about = [] if run.hidden else [a for a in arrange(trace.answers) if is_about_error(a)]
    change = ""
    if trace.error is not None and not any(a.fix for a in about):
        source, fix = run.latest.source, trace.error.fix
        change = fix_html(source, fix, rest=run.rest) if tried else _room_of_fix(source, fix)
    if any(answer.cure for answer in about):  # which says more than the hint
        error = replace(error, hint="")
    box = errors.as_html(error, change=change)
    box += _list_html(about, run, tried, already=0, open=True)
    is_early = run.live and (tried is None or not has_tries(run.latest))
    return f'<div class="ax-rest">{box}</div>' if is_early else box


def _explanations_html(run: ProgramRun, lesson: Lesson, tried: Trace | None) -> str:
    """The example's question and answer, and the answers the run calls for. An example's answer
    would give a lesson's away."""
    if run.failure and exit_reasons.is_out_of_time(run.failure):
        return ""
    trace = tried or run.latest
    example = None if run.hidden or lesson.question else example_of(trace.source)
    answers = () if run.hidden else arrange(trace.answers)
    about_error = [a for a in answers if run.error and is_about_error(a)]
    others = [*run.own_rules, *(a for a in answers if a not in about_error)]
    shown = _example(example) if example and not run.failure else ""
    is_first = not example and not about_error
    return shown + _list_html(others, run, tried, already=len(about_error), open=is_first)


def _list_html(
    answers: Sequence[Answer], run: ProgramRun, tried: Trace | None, *, already: int, open: bool
) -> str:
    """Answers, the first one `open`; with those shown `already`, no more than `MOST_SEEN` before
    the line is opened that counts the others. What waits for being tried has only room."""
    parts = []
    waiting = [a for a in answers if tried is None and can_be_tried(a)]
    for i, answer in enumerate(answers):
        if answer not in waiting:
            parts.append(as_html(answer, run, open=open and i == 0))
            continue
        title = _trying(len(waiting)) if answer is waiting[0] else ""
        room = _room(answer, run, open=open and i == 0)
        parts.append(f'<div class="ax-to-try">{title}{room}</div>')
    seen = max(MOST_SEEN - already, 0)
    if (more := len(parts) - seen) > 0:
        others = "".join(parts[seen:])
        parts[seen:] = [
            f'<details class="ax-more-answers"><summary>{more} more</summary>{others}</details>'
        ]
    return "".join(parts)


def _room_of_fix(source: str, fix: str | None) -> str:
    if fix is None:
        return ""
    room = f'<div class="ax-room" aria-hidden="true">{room_html(source, fix)}</div>'
    return f'<div class="ax-to-try">{_trying(1)}{room}</div>'


def _trying(count: int) -> str:
    cures = "a cure" if count == 1 else f"{count} cures"
    return f'<div class="ax-note ax-trying" role="status">Trying {cures} …</div>'


def _room(answer: Answer, run: ProgramRun, *, open: bool) -> str:
    """The room for an answer that may turn out false: as many letters, which say nothing."""

    def blank(text: str) -> str:
        return re.sub(r"\S", "x", text)

    empty = Answer(
        key="",
        title=blank(answer.title),
        text=blank(answer.text),
        cure=blank(answer.cure),
        tried=_TRIED,
    )
    change = room_html(run.latest.source, answer.fix)
    return f'<div class="ax-room" aria-hidden="true">{_answer_html(empty, change, open)}</div>'


def _example(example: Example) -> str:
    return (
        f'<div class="ax-answer"><b>{escape(example.question)}</b> {escape(example.answer)}</div>'
    )


def as_html(answer: Answer, run: ProgramRun, *, open: bool = False) -> str:
    """One answer that can be opened, with its change and what that showed."""
    return _answer_html(answer, fix_html(run.latest.source, answer.fix, rest=run.rest), open)


def _answer_html(answer: Answer, change: str, open: bool) -> str:
    term = f'<div class="ax-term">{optional_term_link(answer.glossary)}</div>'
    cure = f'<div class="ax-cure">{_with_code(answer.cure)}</div>' if answer.cure else ""
    style = "ax-tried ax-untried" if answer.tried in REASONS else "ax-tried"
    tried = f'<div class="{style}">{_with_code(answer.tried)}</div>' if answer.tried else ""
    return (
        f'<details class="ax-answer"{" open" if open else ""}>'
        f"<summary>{escape(answer.title)}</summary>{_with_code(answer.text)}"
        f"{cure}{change}{tried}{term}</details>"
    )


def example_of(source: str) -> Example | None:
    """The example whose program this is."""
    return next((example for example in EXAMPLES if example.source == source), None)
