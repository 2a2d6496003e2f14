"""Explanations next to the program: question, answer, cure, and the term behind them."""

from __future__ import annotations

from html import escape

import streamlit as st

from explorer.trace.examples import EXAMPLES, Example
from explorer.trace.records import Answer
from explorer.ui.common.errors import program_error
from explorer.ui.common.glossary import optional_term_link
from explorer.ui.expression.lesson import Lesson
from explorer.ui.expression.program import ProgramRun


def explanations(run: ProgramRun, lesson: Lesson) -> None:
    """The program's error, then the example's question and answer or the answers the run calls
    for, the first one open. An example's answer would give a lesson's away."""
    trace = run.trace
    if trace.error:
        program_error(trace.error)
    example = None if run.hidden or lesson.question else example_of(trace.source)
    parts = [_example(example)] if example else []
    parts += [
        as_html(answer, open=not example and i == 0) for i, answer in enumerate(trace.answers)
    ]
    if parts:
        st.html("".join(parts))


def _example(example: Example) -> str:
    return (
        f'<div class="ax-answer"><b>{escape(example.question)}</b> {escape(example.answer)}</div>'
    )


def as_html(answer: Answer, *, open: bool = False) -> str:
    """One answer that can be opened, with its term of the glossary."""
    term = f'<div class="ax-term">{optional_term_link(answer.glossary)}</div>'
    cure = f'<div class="ax-cure">{escape(answer.cure)}</div>' if answer.cure else ""
    return (
        f'<details class="ax-answer"{" open" if open else ""}>'
        f"<summary>{escape(answer.title)}</summary>{escape(answer.text)}{cure}{term}</details>"
    )


def example_of(source: str) -> Example | None:
    """The example whose program this is."""
    return next((example for example in EXAMPLES if example.source == source), None)
