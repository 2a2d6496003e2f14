"""What is said next to the program: its error, how it was read, and explanations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from explorer import limits
from explorer.sandbox import exit_reasons
from explorer.trace import Trace
from explorer.trace.examples import EXAMPLES, Example
from explorer.trace.explain.order import arrange, is_about_error
from explorer.trace.proof.prove import has_tries, untried
from explorer.ui.expression.lesson import Lesson
from explorer.ui.expression.program import ProgramRun
from explorer.ui.server.tries import known, proved
from explorer.view.answers import (
    answers_html,
    error_html,
    example_html,
    is_as_typed,
    notices_html,
    untried_fix_html,
)
from explorer.view.fix import fix_html


def draw_notices(run: ProgramRun) -> Any:
    """What there is to say about the program in the editor: its error, how it was read, and what
    was done in another way. Returns the place of the error, for `try_explanations`."""
    place = st.empty()
    if run.failure and exit_reasons.is_out_of_time(run.failure):
        seconds = f"{limits.TYPED_SECONDS:g} s"
        place.html(
            f'<div class="ax-note">This program takes longer than {seconds}: press Run.</div>'
        )
    elif run.error:
        place.html(_error_html(run, known(run.latest)))
    if (run.trace.notices and not run.failure) or not (run.error or is_as_typed(run.trace)):
        st.html(notices_html(run.trace))
    return place


def draw_explanations(run: ProgramRun, lesson: Lesson) -> Any:
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
        change = fix_html(source, fix, rest=run.rest) if tried else untried_fix_html(source, fix)
    if any(answer.cure for answer in about):  # which says more than the hint
        error = replace(error, hint="")
    box = error_html(error, change=change)
    box += answers_html(
        about, run.latest.source, is_tried=tried is not None, rest=run.rest, open=True
    )
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
    shown = example_html(example) if example and not run.failure else ""
    return shown + answers_html(
        others,
        run.latest.source,
        is_tried=tried is not None,
        rest=run.rest,
        already=len(about_error),
        open=not example and not about_error,
    )


def example_of(source: str) -> Example | None:
    """The example whose program this is."""
    return next((example for example in EXAMPLES if example.source == source), None)
