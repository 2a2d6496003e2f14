"""Explanations of what confuses readers, with line, cause and cure.

Each module looks for one family of surprises in the `RunAnalysis` of a run; `FAMILIES` lists them
in the order in which their answers are shown. What the gradient check found is explained by
`gradient_check`, when a reader asks for the check.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace

from explorer.trace.answers import (
    backward_errors,
    corners,
    hooks,
    in_place,
    none_gradients,
    nonfinite,
    silent_mistakes,
    training,
    typed,
    zero_gradients,
)
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis

_LOG = logging.getLogger(__name__)

#: Most answers one run gives.
MOST_ANSWERS = 12

FAMILIES: tuple[Callable[[RunAnalysis], Iterator[Answer]], ...] = (
    backward_errors.explain_missing_graph,
    in_place.explain,
    backward_errors.explain_refusals,
    nonfinite.explain,
    silent_mistakes.explain,
    none_gradients.explain,
    training.explain_gradients,
    hooks.explain,
    zero_gradients.explain,
    corners.explain,
    training.explain_steps,
    typed.explain,
)


def explain(analysis: RunAnalysis) -> tuple[Answer, ...]:
    """All answers a run calls for, each question once."""
    answers: dict[tuple[str, str], Answer] = {}
    for explain_family in FAMILIES:
        try:
            for answer in explain_family(analysis):
                answer = replace(answer, line=answer.line or None)
                answers.setdefault((answer.key, answer.title), answer)
        except Exception:
            # A program may make tensors nobody thought of; the trace is worth more than an answer.
            _LOG.exception("an explanation failed")
    return tuple(answers.values())[:MOST_ANSWERS]
