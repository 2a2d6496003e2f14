"""Predict first: a trace without its gradients, and a prediction compared with the real one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from explorer.program.parsing import parse_literal
from explorer.trace import Array, Summary, TensorRecord, Trace
from explorer.ui.common import values

#: How close a prediction must be, relative and absolute: the digits that are shown.
RELATIVE, ABSOLUTE = 5e-3, 1e-6
#: The most numbers a reader is asked to predict.
MOST = 16


def hidden(trace: Trace) -> Trace:
    """The trace without gradients and without anything that could reveal them: printed output,
    warnings, answers, events, later passes, the steps of backward, values made after it. Every
    part of the page draws this."""
    line = trace.passes[0].line if trace.passes and not trace.passes[0].ours else None
    tensors = (
        replace(t, grad=None, grad_from=None, why_none="", why_term="", value=_early(t, line))
        for t in trace.tensors
    )
    passes = (replace(p, steps=(), dot="") for p in trace.passes[:1])
    return replace(
        trace,
        output="",
        notes=(),
        answers=(),
        events=(),
        event_count=0,
        variables={},
        tensors=tuple(tensors),
        passes=tuple(passes),
        pass_count=min(trace.pass_count, 1),
        curves=(),
        figures=(),
    )


def _early(record: TensorRecord, backward: int | None) -> Array | None:
    """A tensor's value, unless it was made after the backward: it may be a gradient (`g = x.grad`)
    or have been moved by one."""
    late = backward is not None and ((record.line or 0) >= backward or record.visit > 1)
    return None if late else record.value


def targets(trace: Trace) -> list[TensorRecord]:
    """Tensors whose gradient can be predicted: small ones that require grad, leaves first."""
    small = [t for t in trace.tensors if t.requires_grad and t.named and _size(t) <= MOST]
    latest = {t.name: t for t in small}
    return sorted(latest.values(), key=lambda t: not t.is_leaf)


def _size(record: TensorRecord) -> int:
    return int(np.prod(record.shape))


def numbers(text: str) -> np.ndarray | None:
    """The numbers a reader entered, "None" as an empty array of objects; None if they are not
    numbers."""
    if text.strip() == "None":
        return np.array([], dtype=object)
    try:
        array = np.array(parse_literal(text.strip()))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return array.astype(float) if array.dtype.kind in "fiu" and array.size else None


def verdict(guess: np.ndarray, record: TensorRecord) -> str:
    """How the prediction compares with the gradient, in one sentence or two."""
    truth = record.grad
    if truth is None or isinstance(truth, Summary):
        return "Correct: it has no gradient." if guess.dtype == object else "It has no gradient."
    says = f"The gradient of {record.name} is {values.text(truth)}."
    if guess.dtype == object:
        return f"It does have a gradient. {says}"
    if guess.size != truth.size:
        return f"You entered {guess.size} numbers, it has {truth.size}. {says}"
    predicted, real = guess.reshape(-1), np.asarray(truth, float).reshape(-1)
    near = np.isclose(predicted, real, RELATIVE, ABSOLUTE, equal_nan=True)
    if near.all():
        return f"Correct. {says}"
    return f"{_difference(predicted, real, near)} {says}"


def _difference(predicted: np.ndarray, real: np.ndarray, near: np.ndarray) -> str:
    if np.all(np.isfinite(real)) and np.all(real != 0):
        ratios = predicted / real
        factor = ratios[0]
        if factor != 0 and np.allclose(ratios, factor, RELATIVE):
            if np.isclose(factor, -1, RELATIVE):
                return "Only the sign is wrong."
            whole = factor if abs(factor) >= 1 else 1 / factor
            size = "too large" if abs(factor) > 1 else "too small"
            return f"Every number is {abs(whole):.4g} times {size}."
    return f"{int(near.sum())} of {near.size} numbers are correct."
