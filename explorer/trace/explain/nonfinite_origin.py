"""Follows a value that is not finite back to the first one, and says why that is not finite."""

from __future__ import annotations

from explorer import limits
from explorer.trace.explain.expressions import operations_for
from explorer.trace.explain.nonfinite_causes import forward_cause, largest_of
from explorer.trace.explain.nonfinite_values import (
    element_text,
    has_nan,
    is_nonfinite,
    spoken,
    values_of,
)
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.tensor_registry import LiveTensor

#: Operations that put in an infinity on purpose (a mask before softmax).
MASKS = frozenset(
    ["masked_fill", "masked_fill_", "where", "full", "full_like", "fill_", "__setitem__", "triu"]
)


def walk_back(root: LiveTensor, analysis: RunAnalysis) -> LiveTensor:
    """The first value behind `root` that is not finite: NaN is followed to what is NaN, and then,
    as infinity, to what is infinite, but not to what a mask made infinite on purpose."""
    current = root
    for _ in range(limits.MOST_ORIGIN_STEPS):
        inputs = inputs_of(current, analysis)
        bad = [i for i in inputs if has_nan(i.captured)]
        bad = bad or [i for i in inputs if is_nonfinite(i.captured) and not _is_mask(i, analysis)]
        if not bad:
            return current
        current = min(bad, key=lambda live: live.number)
    return current


def is_first(origin: LiveTensor, analysis: RunAnalysis) -> bool:
    """Whether no value before it is not finite but on purpose: the first one may not be what
    spoils the result."""
    return not any(
        record.number < origin.number
        and is_nonfinite(record.captured)
        and not _is_mask(record, analysis)
        for record in analysis.records
    )


def _is_mask(live: LiveTensor, analysis: RunAnalysis) -> bool:
    """Whether its infinities are there on purpose: put in by a mask, or written as a number."""
    for _ in range(limits.MOST_ORIGIN_STEPS):
        inputs = inputs_of(live, analysis)
        operation = live.operation
        if not operation:
            found = operations_for(analysis.as_typed, live)
            operation = found[0].name if found else ""
            if not inputs:
                return not has_nan(live.captured) and not analysis.recorder.is_part
        if operation in MASKS:
            return True
        bad = [i for i in inputs if is_nonfinite(i.captured)]
        if not bad:
            return False
        live = bad[0]
    return False


def inputs_of(live: LiveTensor, analysis: RunAnalysis) -> list[LiveTensor]:
    """What a value was computed from; of one without history, what its text names."""
    if live.operation:
        return [_as_read(live, source) for source in live.inputs]
    draft = analysis.as_typed
    found = operations_for(draft, live)
    inputs = []
    for operand in found[0].operands if found else ():
        text = draft.of(operand)
        earlier = [r for r in analysis.records if r.number < live.number and r.name == text]
        inputs += earlier[-1:]
    return inputs


def _as_read(result: LiveTensor, source: LiveTensor) -> LiveTensor:
    """An input as an operation read it; where its record is older, as it is now, for a tensor
    without history is seldom changed after it was used."""
    if id(source) in result.current_inputs or source.grad_fn is not None:
        return source
    now = LiveTensor(source.number, source.line, source.name, source.tensor)
    now.named, now.first_name, now.first_use = source.named, source.first_name, result.statement
    return now


def reason_of(origin: LiveTensor, operation: str, inputs: list[LiveTensor]) -> str:
    """Why an operation gives NaN or infinity, if that explains all its elements."""
    out = values_of(origin)
    arrays = [a for a in map(values_of, inputs) if a is not None]
    if out is None or len(arrays) < len(inputs):
        return ""
    if len(inputs) == 1 and origin.operation in ("div", "true_divide", "divide"):
        return ""  # by a number, which is not recorded
    found = forward_cause(operation, arrays, out)
    if found is None:
        return ""
    cause, here = found
    words = cause.text.format(operation=operation, dtype=out.dtype, largest=largest_of(out.dtype))
    if cause.blames is None:
        return words
    array = arrays[cause.blames]
    if array.shape != here.shape:
        here = array == 0
        if not here.any():
            return words
    return f"{element_text(spoken(inputs[cause.blames]), array, here)}, and {words}"
