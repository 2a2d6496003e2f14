"""What is said next to the program: its error, how it was read, and explanations."""

from __future__ import annotations

import re
from html import escape

import streamlit as st

from explorer.sandbox import exit_reasons
from explorer.trace import Trace
from explorer.trace.examples import EXAMPLES, Example
from explorer.trace.records import Answer
from explorer.ui.common import errors
from explorer.ui.common.glossary import optional_term_link
from explorer.ui.expression.lesson import Lesson
from explorer.ui.expression.program import LIVE, ProgramRun

_CODE = re.compile("`([^`]+)`")


def remarks(run: ProgramRun) -> None:
    """What there is to say about the program in the editor: its error, and how it was read. An
    error of what is being typed is shown when the hand has rested."""
    error, completed = run.error, run.trace.completed
    if run.failure and exit_reasons.is_out_of_time(run.failure):
        st.html(f'<div class="ax-note">This program takes longer than {LIVE:g} s: press Run.</div>')
    elif error:
        box = errors.as_html(error, can_apply=True)
        st.html(f'<div class="ax-rest">{box}</div>' if run.live else box)
    elif completed.strip() not in ("", run.trace.source.strip()):
        st.html(readings(run.trace))


def readings(trace: Trace) -> str:
    """How the text was understood, in a line that opens to show the whole program."""
    added = trace.completed.rstrip("\n").count("\n") - trace.source.rstrip("\n").count("\n")
    parts = [sentence.rstrip(".") for sentence in trace.readings]
    if added > 0:
        parts.insert(0, f"{added} line{'s were' if added > 1 else ' was'} added")
    summary = _CODE.sub(r"<code>\1</code>", escape(" · ".join(parts) or "Shown as it was run"))
    copy = f'<button type="button" class="ax-apply" data-copy="{escape(trace.completed)}">'
    return (
        f'<details class="ax-note ax-readings"><summary>{summary}</summary>{copy}Copy</button>'
        f'<pre class="ax-printed">{escape(trace.completed.rstrip())}</pre></details>'
    )


def explanations(run: ProgramRun, lesson: Lesson) -> None:
    """The example's question and answer, or the answers the run calls for, the first one open. An
    example's answer would give a lesson's away."""
    trace = run.trace
    example = None if run.hidden or lesson.question else example_of(trace.source)
    parts = [_example(example)] if example else []
    parts += [
        as_html(answer, open=not example and i == 0) for i, answer in enumerate(trace.answers)
    ]
    if parts and not run.failure:
        st.html("".join(parts))


def _example(example: Example) -> str:
    return (
        f'<div class="ax-answer"><b>{escape(example.question)}</b> {escape(example.answer)}</div>'
    )


def as_html(answer: Answer, *, open: bool = False) -> str:
    """One answer that can be opened, with its term of the glossary."""
    term = f'<div class="ax-term">{optional_term_link(answer.glossary)}</div>'
    button = errors.apply_button(answer.fix)
    has_cure = answer.cure or button
    cure = f'<div class="ax-cure">{escape(answer.cure)} {button}</div>' if has_cure else ""
    return (
        f'<details class="ax-answer"{" open" if open else ""}>'
        f"<summary>{escape(answer.title)}</summary>{escape(answer.text)}{cure}{term}</details>"
    )


def example_of(source: str) -> Example | None:
    """The example whose program this is."""
    return next((example for example in EXAMPLES if example.source == source), None)
