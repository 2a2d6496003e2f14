"""NaN and infinity: the first operation, forward or backward, that makes one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np

from explorer.trace.capture import CapturedValues
from explorer.trace.passes import RawPass, RawStep
from explorer.trace.records import Answer, Summary
from explorer.trace.run_analysis import RunAnalysis, parenthesised
from explorer.trace.tensor_registry import LiveTensor
from explorer.trace.text import join_names
from explorer.trace.torchviz_graph import leaf_of

#: Operations that put in an infinity on purpose (a mask before softmax).
MASKS = frozenset(
    ["masked_fill", "masked_fill_", "where", "full", "full_like", "fill_", "__setitem__"]
)

_DIVIDES = "there is a division by 0"
_NORM = "the derivative of a norm is x / ‖x‖, which is 0/0 at 0"
#: Why a result is not finite: (operation, what its input holds, the cause as a sentence).
FORWARD: tuple[tuple[str, str, str], ...] = (
    ("log", "zero", "the logarithm of 0 is −inf"),
    ("log", "negative", "the logarithm of a negative number is NaN"),
    ("log2", "zero", "the logarithm of 0 is −inf"),
    ("log10", "zero", "the logarithm of 0 is −inf"),
    ("sqrt", "negative", "the square root of a negative number is NaN"),
    ("rsqrt", "zero", "1/√x is infinite at 0"),
    ("reciprocal", "zero", "1/x is infinite at 0"),
    ("div", "zero", _DIVIDES),
    ("__rtruediv__", "zero", _DIVIDES),
    ("__rdiv__", "zero", _DIVIDES),
    ("true_divide", "zero", _DIVIDES),
    ("std", "single", "the standard deviation divides by n − 1, which is 0 for one element"),
    ("var", "single", "the variance divides by n − 1, which is 0 for one element"),
    ("exp", "large", "the exponential is larger than the largest number of this dtype"),
    ("pow", "large", "the power is larger than the largest number of this dtype"),
    ("acos", "outside", "acos is defined only between −1 and 1"),
    ("asin", "outside", "asin is defined only between −1 and 1"),
    ("pow", "negative", "a negative number to a fractional power is NaN"),
    ("pow", "zero", "0 to a negative power is infinite"),
)
#: The derivative that is not finite, by backward node.
BACKWARD = {
    "SqrtBackward0": "the derivative of √x is 1/(2√x), which is infinite at 0",
    "RsqrtBackward0": "the derivative of 1/√x is infinite at 0",
    "LogBackward0": "the derivative of log x is 1/x, which is infinite at 0",
    "Log2Backward0": "the derivative of log₂ x is infinite at 0",
    "PowBackward0": "the derivative of this power is infinite at 0",
    "PowBackward1": "the derivative of this power is not defined here",
    "LinalgVectorNormBackward0": _NORM,
    "NormBackward0": _NORM,
    "NormBackward1": _NORM,
    "DivBackward0": "the derivative of a quotient divides by the divisor, which is 0 here",
    "StdBackward0": "the derivative of std divides by n − 1 and by the deviation, which is 0 here",
    "VarBackward0": "the derivative of var divides by n − 1, which is 0 for one element",
    "AcosBackward0": "the derivative of acos is infinite at −1 and 1",
    "AsinBackward0": "the derivative of asin is infinite at −1 and 1",
    "ReciprocalBackward0": "the derivative of 1/x is infinite at 0",
    "Atan2Backward0": "the derivative of atan2 divides by x² + y², which is 0 here",
}


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """One answer: where the first NaN or infinity that reached a result came from."""
    if not _matters(analysis):
        return
    first = _first_in_forward(analysis)
    if first is not None:
        yield _in_forward(first, analysis)
        return
    for raw_pass in analysis.passes:
        step = next((step for step in raw_pass.steps if _makes_nonfinite(step)), None)
        if step is not None:
            yield _in_backward(step, raw_pass, analysis)
            return


def _matters(analysis: RunAnalysis) -> bool:
    """Whether a root or a gradient that arrived is not finite."""
    for raw_pass in analysis.passes:
        roots = [analysis.recorder.find(root) for root in raw_pass.roots]
        if any(record is not None and _is_nonfinite(record.captured) for record in roots):
            return True
        if any(_is_nonfinite(kept) for step in raw_pass.steps for kept in step.grads_out):
            return True
    return False


# -- forward --------------------------------------------------------------------------------


def _first_in_forward(analysis: RunAnalysis) -> LiveTensor | None:
    for record in analysis.records:
        if not record.operation or not _is_nonfinite(record.captured):
            continue
        if any(_is_nonfinite(source.captured) for source in record.inputs):
            continue
        if record.operation in MASKS and not _has_nan(record.captured):
            continue
        return record
    return None


def _in_forward(first: LiveTensor, analysis: RunAnalysis) -> Answer:
    arrays = [a for a in (i.captured.array() for i in first.inputs) if isinstance(a, np.ndarray)]
    to_blame = arrays[-1:] if first.operation in ("div", "true_divide") else arrays
    cause = next(
        (
            text
            for operation, condition, text in FORWARD
            if operation == first.operation and any(HOLDS[condition](a) for a in to_blame)
        ),
        "its inputs are finite, but its result is not",
    )
    kind, what = ("NaN", "NaN") if _has_nan(first.captured) else ("infinity", "an infinity")
    name = first.inputs[0].name if first.inputs else first.name
    return Answer(
        "nonfinite.forward",
        f"Where does the {kind} come from?",
        f"{first.name} on line {first.line} is the first value with {what}: it is "
        f"{first.operation} of {name}, and {cause}.{_consequences(first, analysis)}",
        _forward_cure(first),
        first.line,
        tuple(dict.fromkeys((first.name, name))),
        "nan",
    )


def _consequences(first: LiveTensor, analysis: RunAnalysis) -> str:
    """What else is not finite: values computed from the first one, and gradients."""
    affected = {id(first)}
    values = []
    for record in analysis.records:
        if _is_nonfinite(record.captured) and any(id(i) in affected for i in record.inputs):
            affected.add(id(record))
            if record.named and record.name != first.name:
                values.append(record.name)
    gradients = [
        f"{analysis.name_of(leaf)}.grad"
        for raw_pass in analysis.passes
        for step in raw_pass.steps
        if _is_nonfinite(step.after)
        and (leaf := leaf_of(raw_pass.functions[step.function])) is not None
    ]
    text = ""
    if values:
        text += f" {join_names(values)}, computed from it, {_are(values)} not finite either."
    if gradients:
        text += f" After backward, {join_names(gradients)} {_are(gradients)} not finite."
    return text


def _are(names: list[str]) -> str:
    return "is" if len(set(names)) == 1 else "are"


def _forward_cure(first: LiveTensor) -> str:
    name = first.inputs[0].name if first.inputs else first.name
    value = parenthesised(name)
    cures = {
        "log": f"Keep it above 0: torch.log({name} + 1e-8) or {value}.clamp(min=1e-8).",
        "sqrt": f"Keep it above 0: torch.sqrt({value}.clamp(min=0) + 1e-8).",
        "std": "Pass correction=0, or use more than one element.",
        "var": "Pass correction=0, or use more than one element.",
        "exp": "Subtract the largest value first, as softmax and logsumexp do.",
        "div": "Add a small number such as 1e-8 to the divisor.",
    }
    return cures.get(first.operation, "Keep the input away from that value.")


HOLDS = {
    "zero": lambda a: bool((a == 0).any()),
    "negative": lambda a: bool((a < 0).any()),
    "single": lambda a: a.size == 1 or 1 in a.shape,
    "large": lambda a: bool((np.abs(a) > 30).any()),
    "outside": lambda a: bool((np.abs(a) > 1).any()),
}


# -- backward -------------------------------------------------------------------------------


def _makes_nonfinite(step: RawStep) -> bool:
    return any(map(_is_nonfinite, step.grads_out)) and not any(map(_is_nonfinite, step.grads_in))


def _in_backward(step: RawStep, raw_pass: RawPass, analysis: RunAnalysis) -> Answer:
    node = raw_pass.functions[step.function]
    result = analysis.result_of_node(node)
    users = {
        type(other).__name__
        for other in raw_pass.functions
        if any(source is node for source, _ in other.next_functions)
    }
    has_nan = any(map(_has_nan, step.grads_out))
    ends_nan = any(_has_nan(kept) for other in raw_pass.steps for kept in other.grads_out)
    cause = BACKWARD.get(type(node).__name__, "its derivative is not finite at these values")
    name = result.inputs[0].name if result is not None and result.inputs else ""
    behind_where = "WhereBackward0" in users or "MaskedFillBackward0" in users
    text = "The forward values are finite. "
    if behind_where and has_nan and _turns_zero_into_nan(step):
        text += (
            f"{analysis.node_text(node)} belongs to a branch that where does not choose, so the "
            f"gradient that arrives there is 0. But {cause}, and 0 · ∞ is NaN."
        )
        cure = (
            f"Make the input safe before the function: use {name or 'x'} only where the condition "
            "holds, and 1 elsewhere (a second where, inside)."
        )
    else:
        made = "NaN" if has_nan else "an infinity"
        text += f"In backward, {analysis.node_text(node)} is the first operation to produce "
        text += f"{made}: {cause}."
        if ends_nan and not has_nan:
            text += " Later in backward it is multiplied by 0, and 0 · ∞ is NaN."
        cure = f"Keep {name or 'its input'} away from that value, for example with + 1e-8."
    return Answer(
        "nonfinite.backward",
        f"Why is a gradient {'NaN' if ends_nan else 'infinite'} although the result is a number?",
        text,
        cure,
        result.line if result is not None else raw_pass.line,
        tuple(n for n in (name, result.name if result is not None else "") if n),
        "nan",
    )


def _turns_zero_into_nan(step: RawStep) -> bool:
    """Whether the gradient that arrived is 0 where the gradient passed on is NaN."""
    incoming = step.grads_in[0].array() if step.grads_in and step.grads_in[0] is not None else None
    for captured in step.grads_out:
        outgoing = None if captured is None else captured.array()
        if (
            isinstance(incoming, np.ndarray)
            and isinstance(outgoing, np.ndarray)
            and incoming.shape == outgoing.shape
            and bool((incoming[np.isnan(outgoing)] == 0).any())
        ):
            return True
    return False


def _is_nonfinite(captured: CapturedValues | None) -> bool:
    array = None if captured is None else captured.array()
    if isinstance(array, Summary):
        return array.nonfinite > 0
    return _is_floating(array) and not bool(np.isfinite(array).all())


def _has_nan(captured: CapturedValues | None) -> bool:
    array = None if captured is None else captured.array()
    if isinstance(array, Summary):
        return array.nonfinite > 0
    return _is_floating(array) and bool(np.isnan(array).any())


def _is_floating(array: Any) -> TypeGuard[np.ndarray]:
    return array is not None and array.dtype.kind in "fc"
