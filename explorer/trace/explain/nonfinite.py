"""NaN and infinity: the first operation, forward or backward, that makes one.

Asked at https://github.com/pytorch/pytorch/issues/29372
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from explorer.trace.explain import nonfinite_backward, nonfinite_steps
from explorer.trace.explain.cures import with_cures
from explorer.trace.explain.expressions import operations_for, same_operation
from explorer.trace.explain.nonfinite_cures import forward_cures, from_the_start
from explorer.trace.explain.nonfinite_origin import inputs_of, is_first, reason_of, walk_back
from explorer.trace.explain.nonfinite_values import (
    has_nan,
    is_nonfinite,
    last_gradients,
    spoiled_by,
    spoken,
)
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.passes import RawPass
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.records import Answer, Symptom


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """For each pass, where its first NaN or infinity came from. What a pass spoils that began with
    spoiled leaves needs no other answer."""
    explained: set[Any] = set()
    for raw_pass in analysis.passes:
        roots = [analysis.recorder.find(root) for root in raw_pass.roots]
        root = next((r for r in roots if r is not None and is_nonfinite(r.captured)), None)
        if root is not None:
            origin = walk_back(root, analysis)
            is_later = origin.is_leaf and _was_finite(origin, analysis)
            if is_later or nonfinite_steps.has_run_away(analysis):
                if not explained:
                    yield from nonfinite_steps.explain(raw_pass, analysis)
                return
            key: Any = (origin.line, origin.name)
            if key not in explained:
                yield _forward(origin, raw_pass, analysis)
            explained.add(key)
        elif any(map(is_nonfinite, last_gradients(raw_pass))):
            for key, answer in nonfinite_backward.explain(raw_pass, analysis):
                if key not in explained:
                    yield answer
                explained.add(key)
    if not explained:
        yield from nonfinite_steps.explain_growth(analysis)


def _was_finite(leaf: LiveTensor, analysis: RunAnalysis) -> bool:
    """Whether a leaf was finite at first: then it was changed, by a step for example."""
    return any(
        record.tensor is leaf.tensor and not is_nonfinite(record.captured)
        for record in analysis.records
    )


def _forward(origin: LiveTensor, raw_pass: RawPass, analysis: RunAnalysis) -> Answer:
    kind = "NaN" if has_nan(origin.captured) else "infinity"
    what = "NaN" if kind == "NaN" else "an infinity"
    spoiled = spoiled_by([origin], [], raw_pass, analysis)
    draft = analysis.as_typed
    found = operations_for(draft, origin)
    operation = same_operation(origin.operation) or (found[0].name if found else "")
    inputs = inputs_of(origin, analysis)
    line = origin.statement if origin.operation else origin.line
    verb = "is the first value with" if is_first(origin, analysis) else "has"
    said = f"{spoken(origin)} (line {line}) {verb} {what}"
    answer = Answer(
        key="nonfinite.forward",
        title=f"Where does the {kind} come from?",
        text=f"{said}.",
        cure="",
        line=line,
        names=tuple(dict.fromkeys((origin.name, *(i.name for i in inputs[:2])))),
        glossary="nan",
        symptom=Symptom("nonfinite", spoiled.names),
    )
    after = spoiled.sentence(origin.name)
    if not inputs and not origin.operation:
        text, cures = from_the_start(origin, what, analysis)
        return with_cures(replace(answer, text=text + after), cures, is_certain=True)
    reason = reason_of(origin, operation, inputs)
    if not reason:
        are_finite = inputs and not any(is_nonfinite(i.captured) for i in inputs)
        return replace(
            answer, text=answer.text + (" Its inputs are finite." if are_finite else "") + after
        )
    answer = replace(answer, text=f"{said}: {reason}.{after}")
    return with_cures(
        answer,
        forward_cures(origin, inputs, analysis, is_overflow="larger than" in reason),
        is_certain=True,
    )
