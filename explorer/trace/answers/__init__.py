"""Explanations of what confuses readers, with line, cause and cure.

Each module looks for one family of surprises in the `RunAnalysis` of a run; `FAMILIES` lists them
in the order in which their answers are shown.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from explorer.trace.answers import (
    accumulation,
    backward,
    history,
    hooks,
    inplace,
    none,
    nonfinite,
    optimizer,
    silent,
    zero,
)
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis

_LOG = logging.getLogger(__name__)

#: Most answers one run gives.
MOST_ANSWERS = 12

FAMILIES: tuple[Callable[[RunAnalysis], Iterator[Answer]], ...] = (
    history.answers,
    inplace.answers,
    backward.answers,
    nonfinite.answers,
    silent.answers,
    none.answers,
    accumulation.answers,
    hooks.answers,
    zero.answers,
    optimizer.answers,
)


def explain(analysis: RunAnalysis) -> tuple[Answer, ...]:
    """All answers a run calls for, each question once."""
    found: dict[tuple[str, str], Answer] = {}
    for family in FAMILIES:
        try:
            for answer in family(analysis):
                found.setdefault((answer.key, answer.title), answer)
        except Exception:
            # A program may make tensors nobody thought of; the trace is worth more than a remark.
            _LOG.exception("an explanation failed")
    return tuple(found.values())[:MOST_ANSWERS]
