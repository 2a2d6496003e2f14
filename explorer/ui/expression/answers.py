"""What happened, explained where the eye is: question, answer, cure, and the word behind it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from explorer.trace import Trace
from explorer.trace.examples import Example
from explorer.trace.records import Answer
from explorer.ui.common.glossary import optional_term_link


def answers(trace: Trace, example: Example | None) -> None:
    """The example's question and answer, or the answers the run calls for, the first one open."""
    told = [_example(example)] if example else []
    told += [as_html(found, open=not example and i == 0) for i, found in enumerate(trace.answers)]
    if told:
        st.html("".join(told))


def _example(example: Example) -> str:
    return (
        f'<div class="ax-answer"><b>{escape(example.question)}</b> {escape(example.answer)}</div>'
    )


def as_html(found: Answer, *, open: bool = False) -> str:
    """One answer that opens, with the word of the glossary behind it."""
    term = f'<div class="ax-term">{optional_term_link(found.glossary)}</div>'
    cure = f'<div class="ax-cure">{escape(found.cure)}</div>' if found.cure else ""
    return (
        f'<details class="ax-answer"{" open" if open else ""}>'
        f"<summary>{escape(found.title)}</summary>{escape(found.text)}{cure}{term}</details>"
    )


def example_of(source: str, examples: Sequence[Example]) -> Example | None:
    """The example whose program this is."""
    return next((example for example in examples if example.source == source), None)
