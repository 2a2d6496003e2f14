"""NaN and infinity: the first operation, forward or backward, that makes one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from explorer.trace.capture import Kept
from explorer.trace.passes import RawPass, RawStep
from explorer.trace.records import Answer, Summary
from explorer.trace.run_analysis import RunAnalysis
from explorer.trace.tensor_registry import LiveTensor

#: Operations in which an infinity is put in on purpose (a mask before softmax).
MASKS = frozenset(
    ["masked_fill", "masked_fill_", "where", "full", "full_like", "fill_", "__setitem__"]
)

#: What the operation made of a bad input: (operation, what the input holds, what is said).
FORWARD: tuple[tuple[str, str, str], ...] = (
    ("log", "zero", "the logarithm of 0 is −inf"),
    ("log", "negative", "the logarithm of a negative number is NaN"),
    ("log2", "zero", "the logarithm of 0 is −inf"),
    ("log10", "zero", "the logarithm of 0 is −inf"),
    ("sqrt", "negative", "the square root of a negative number is NaN"),
    ("rsqrt", "zero", "1/√x is infinite at 0"),
    ("reciprocal", "zero", "1/x is infinite at 0"),
    ("div", "zero", "it divides by 0"),
    ("__rtruediv__", "zero", "it divides by 0"),
    ("__rdiv__", "zero", "it divides by 0"),
    ("true_divide", "zero", "it divides by 0"),
    ("std", "single", "the standard deviation divides by n − 1, which is 0 for one element"),
    ("var", "single", "the variance divides by n − 1, which is 0 for one element"),
    ("exp", "large", "the exponential is too large for the type of number"),
    ("pow", "large", "the power is too large for the type of number"),
    ("acos", "outside", "acos is defined between −1 and 1 only"),
    ("asin", "outside", "asin is defined between −1 and 1 only"),
    ("pow", "negative", "a broken power of a negative number is NaN"),
    ("pow", "zero", "a negative power of 0 is infinite"),
)
#: The slope that is infinite, by backward node.
BACKWARD = {
    "SqrtBackward0": "the slope of √x is 1/(2√x), infinite at 0",
    "RsqrtBackward0": "the slope of 1/√x is infinite at 0",
    "LogBackward0": "the slope of log x is 1/x, infinite at 0",
    "Log2Backward0": "the slope of log₂ x is infinite at 0",
    "PowBackward0": "the slope of this power is infinite at 0",
    "PowBackward1": "the slope of this power is not defined here",
    "LinalgVectorNormBackward0": "the slope of a norm is x / ‖x‖, 0/0 at 0",
    "NormBackward0": "the slope of a norm is x / ‖x‖, 0/0 at 0",
    "NormBackward1": "the slope of a norm is x / ‖x‖, 0/0 at 0",
    "DivBackward0": "the slope of a quotient divides by its divisor, here 0",
    "StdBackward0": "the slope of std divides by n − 1 and by the deviation, here 0",
    "VarBackward0": "the slope of var divides by n − 1, which is 0 for one element",
    "AcosBackward0": "the slope of acos is infinite at −1 and 1",
    "AsinBackward0": "the slope of asin is infinite at −1 and 1",
    "ReciprocalBackward0": "the slope of 1/x is infinite at 0",
    "Atan2Backward0": "the slope of atan2 divides by x² + y², here 0",
}
SINGLE = "n − 1 = 0: the deviation of one element divides by 0"


def answers(analysis: RunAnalysis) -> Iterator[Answer]:
    """One answer: where the first NaN or infinity that reached a result came from."""
    if not _matters(analysis):
        return
    made = _first_forward(analysis)
    if made is not None:
        yield _forward(made)
        return
    for raw in analysis.passes:
        step = next((s for s in raw.steps if _makes(s)), None)
        if step is not None:
            yield _backward(step, raw, analysis)
            return


def _matters(analysis: RunAnalysis) -> bool:
    """Whether a root or a gradient that arrived is not finite."""
    for raw in analysis.passes:
        roots = [analysis.recorder.find(root) for root in raw.roots]
        if any(seen is not None and _bad(seen.kept) for seen in roots):
            return True
        if any(_bad(kept) for step in raw.steps for kept in step.grads_out):
            return True
    return False


# -- forward --------------------------------------------------------------------------------


def _first_forward(analysis: RunAnalysis) -> LiveTensor | None:
    for seen in analysis.every:
        if not seen.operation or not _bad(seen.kept) or any(_bad(i.kept) for i in seen.inputs):
            continue
        if seen.operation in MASKS and not _has_nan(seen.kept):
            continue
        return seen
    return None


def _forward(seen: LiveTensor) -> Answer:
    arrays = [a for a in (i.kept.array() for i in seen.inputs) if isinstance(a, np.ndarray)]
    divisor = arrays[-1:] if seen.operation in ("div", "true_divide") else arrays
    said = next(
        (
            text
            for operation, condition, text in FORWARD
            if operation == seen.operation and any(HOLDS[condition](a) for a in divisor)
        ),
        "its inputs are finite, its result is not",
    )
    what = "NaN" if _has_nan(seen.kept) else "an infinity"
    name = seen.inputs[0].name if seen.inputs else seen.name
    return Answer(
        "nonfinite.forward",
        f"Where does the {'NaN' if what == 'NaN' else 'infinity'} come from?",
        f"{seen.name} on line {seen.line} is the first value with {what}: {seen.operation} of "
        f"{name}, and {said}. Everything after it, and every gradient, is spoiled.",
        _forward_cure(seen),
        seen.line,
        tuple(dict.fromkeys((seen.name, name))),
        "nan",
    )


def _forward_cure(seen: LiveTensor) -> str:
    name = seen.inputs[0].name if seen.inputs else seen.name
    cures = {
        "log": f"Keep it above 0: torch.log({name} + 1e-8) or {name}.clamp(min=1e-8).",
        "sqrt": f"Keep it above 0: torch.sqrt({name}.clamp(min=0) + 1e-8).",
        "std": "Pass correction=0, or use more than one element.",
        "var": "Pass correction=0, or use more than one element.",
        "exp": "Subtract the largest value first, as softmax and logsumexp do.",
        "div": "Add a small number such as 1e-8 to the divisor.",
    }
    return cures.get(seen.operation, "Keep the input away from that value.")


def _single(array: Any) -> bool:
    return array.size == 1 or 1 in array.shape


HOLDS = {
    "zero": lambda a: bool((a == 0).any()),
    "negative": lambda a: bool((a < 0).any()),
    "single": _single,
    "large": lambda a: bool((np.abs(a) > 30).any()),
    "outside": lambda a: bool((np.abs(a) > 1).any()),
}


# -- backward -------------------------------------------------------------------------------


def _makes(step: RawStep) -> bool:
    return any(map(_bad, step.grads_out)) and not any(map(_bad, step.grads_in))


def _backward(step: RawStep, raw: RawPass, analysis: RunAnalysis) -> Answer:
    node = raw.functions[step.function]
    kind = type(node).__name__
    made = analysis.made_by(node)
    users = {
        type(other).__name__
        for other in raw.functions
        if any(source is node for source, _ in other.next_functions)
    }
    has_nan = any(map(_has_nan, step.grads_out))
    ends_nan = any(_has_nan(kept) for other in raw.steps for kept in other.grads_out)
    said = BACKWARD.get(kind, "its slope is not finite at these values")
    name = made.inputs[0].name if made is not None and made.inputs else ""
    chosen = "WhereBackward0" in users or "MaskedFillBackward0" in users
    if chosen and has_nan and _zero_meets(step):
        text = (
            f"The forward values are finite. {analysis.called(node)} lies behind a branch that "
            f"where does not choose: the gradient that arrives there is 0, {said}, and 0 · ∞ is "
            "NaN."
        )
        cure = (
            f"Make the branch safe before the function: use {name or 'x'} only where the condition "
            "holds, and 1 elsewhere (a second where inside)."
        )
    else:
        makes = "NaN" if has_nan else "an infinity"
        text = (
            f"The forward values are finite. Going back, {analysis.called(node)} is the first to "
        )
        text += f"make {makes}: {said}."
        if ends_nan and not has_nan:
            text += " Further on it meets a 0, and 0 · ∞ is NaN."
        cure = f"Keep {name or 'its input'} away from that value, for example with + 1e-8."
    return Answer(
        "nonfinite.backward",
        "Why is a gradient NaN although the result is a number?"
        if ends_nan
        else "Why is a gradient infinite although the result is a number?",
        text,
        cure,
        made.line if made is not None else raw.line,
        tuple(n for n in (name, made.name if made is not None else "") if n),
        "nan",
    )


def _zero_meets(step: RawStep) -> bool:
    """Whether the gradient that arrived is 0 where NaN was handed on."""
    given = step.grads_in[0].array() if step.grads_in and step.grads_in[0] is not None else None
    for kept in step.grads_out:
        handed = None if kept is None else kept.array()
        if (
            isinstance(given, np.ndarray)
            and isinstance(handed, np.ndarray)
            and given.shape == handed.shape
            and bool((given[np.isnan(handed)] == 0).any())
        ):
            return True
    return False


def _bad(kept: Kept | None) -> bool:
    array = None if kept is None else kept.array()
    if isinstance(array, Summary):
        return array.nonfinite > 0
    return array is not None and array.dtype.kind in "fc" and not bool(np.isfinite(array).all())


def _has_nan(kept: Kept | None) -> bool:
    array = None if kept is None else kept.array()
    if isinstance(array, Summary):
        return array.nonfinite > 0
    return array is not None and array.dtype.kind in "fc" and bool(np.isnan(array).any())
