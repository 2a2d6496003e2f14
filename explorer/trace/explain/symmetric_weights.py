"""Units of a layer that start equal, get equal gradients, and stay equal for ever.

Asked at https://github.com/nndl/nndl-discussion/issues/14
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np
import torch

from explorer import limits
from explorer.program.draft import called_name
from explorer.trace.explain.cures import with_cures
from explorer.trace.explain.nonfinite_values import values_of
from explorer.trace.explain.run_analysis import RunAnalysis, is_small_array
from explorer.trace.recording.capture import to_numpy
from explorer.trace.recording.passes import RawPass
from explorer.trace.recording.torchviz_graph import leaf_of
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names

#: Functions that give all weights the same number, and what gives them different ones.
INITIALS = {"constant_": "normal_({}, std=0.1)", "ones_": "normal_({}, std=0.1)"}


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Weights of an optimizer whose rows are equal in the first pass and in the last, and so are
    the rows of their gradients."""
    passes = analysis.passes
    if len(passes) < 2 or not analysis.recorder.events.optimizers:
        return
    same = [
        live
        for live in passes[0].leaves.values()
        if live is not None
        and live.tensor.numel() <= limits.WHOLE
        and _has_equal_rows(values_of(live), live.tensor, passes[0])
        and _has_equal_rows(to_numpy(live.tensor), live.tensor, passes[-1])
    ]
    if not same:
        return
    names = [analysis.name_of(live.tensor) for live in same]
    rows = same[0].captured.shape[0]
    draft = analysis.draft()
    for call in draft.nodes(ast.Call):
        form = INITIALS.get(called_name(call))
        if form is not None and call.args and isinstance(call.func, ast.Attribute):
            module = draft.of(call.func.value)
            draft.replace(call, f"{module}.{form.format(draft.of(call.args[0]))}")
        elif called_name(call) == "ones" and any(live.line == call.lineno for live in same):
            draft.replace(call.func, draft.of(call.func)[: -len("ones")] + "randn")
    yield with_cures(
        Answer(
            key="symmetric.weights",
            title=f"Why do all units of {names[0]} stay the same?",
            text=f"All {rows} rows of {names[0]} start with the same numbers, so the units compute "
            "the "
            "same and get the same gradients. Every step keeps them equal: the layer works like "
            "a single unit.",
            cure="Start with random numbers.",
            line=same[0].line or passes[0].line,
            names=tuple(names),
            glossary="symmetry",
            symptom=Symptom("value", (names[0],)),
        ),
        [(f"Start {join_names(names)} with random numbers.", draft.changed())],
        is_certain=True,
    )


def _has_equal_rows(value: np.ndarray | None, leaf: torch.Tensor, raw_pass: RawPass) -> bool:
    """Whether all rows of a matrix and of its gradient are equal, and there is a gradient."""
    step = next(
        (s for s in raw_pass.steps if leaf_of(raw_pass.functions[s.function]) is leaf), None
    )
    kept = step.grads_in[0] if step is not None and step.grads_in else None
    grad = kept.array() if kept is not None else None
    if value is None or value.ndim < 2 or len(value) < 2 or not is_small_array(grad):
        return False
    return bool(grad.any()) and all(
        np.allclose(array, array[:1], rtol=1e-5, atol=0) for array in (value, grad)
    )
