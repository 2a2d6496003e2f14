"""Explanations of what confuses readers, with line, cause and cure.

Each module looks for one family of surprises in the `RunAnalysis` of a run; `FAMILIES` lists them
in the order in which their answers are shown. What the gradient check found is explained by
`gradient_check`, when a reader asks for the check.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace

from explorer import limits
from explorer.trace.explain import (
    accumulation,
    backward_errors,
    call_order,
    corners,
    divergence,
    dropped,
    empty_optimizers,
    gradient_scaling,
    hooks,
    in_place,
    kept_graphs,
    losses,
    lost_results,
    micro_batches,
    missing_graph,
    modes,
    new_layers,
    no_effect,
    none_gradients,
    nonfinite,
    one_sided,
    optimizer_parameters,
    optimizer_steps,
    own_functions,
    same_input,
    second_time,
    shared_layers,
    snapshots,
    squashed_twice,
    symmetric_weights,
    torch_warnings,
    typed,
    zero_gradients,
)
from explorer.trace.explain.looked_at import mark_looked_at, names_looked_at
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.records import Answer

_LOG = logging.getLogger(__name__)

FAMILIES: tuple[Callable[[RunAnalysis], Iterator[Answer]], ...] = (
    missing_graph.explain,
    in_place.explain,
    dropped.explain,
    second_time.explain,
    backward_errors.explain,
    empty_optimizers.explain,
    gradient_scaling.explain,
    nonfinite.explain,
    squashed_twice.explain,
    losses.explain,
    one_sided.explain,
    modes.explain,
    new_layers.explain,
    same_input.explain,
    no_effect.explain,
    snapshots.explain,
    micro_batches.explain,
    own_functions.explain,
    torch_warnings.explain,
    none_gradients.explain,
    lost_results.explain,
    accumulation.explain,
    call_order.explain,
    hooks.explain,
    zero_gradients.explain,
    symmetric_weights.explain,
    corners.explain,
    optimizer_parameters.explain,
    optimizer_steps.explain,
    divergence.explain,
    kept_graphs.explain,
    shared_layers.explain,
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
    found = tuple(answers.values())[: limits.MOST_ANSWERS]
    try:
        names = names_looked_at(analysis)
    except Exception:
        _LOG.exception("what the program looked at is not known")
        return found
    return tuple(mark_looked_at(answer, names) for answer in found)
