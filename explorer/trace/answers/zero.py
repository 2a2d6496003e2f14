"""Gradients that are 0 where the graph is whole: flat operations, weak chains, corners and ties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from explorer.trace.answers.path import Path, paths_to_leaves
from explorer.trace.capture import Kept
from explorer.trace.passes import RawPass, RawStep
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis, is_small_array
from explorer.trace.text import number

#: Why an operation hands on 0, by the beginning of its node's name.
FLAT = {
    "Round": "rounding is flat between its steps: its slope is 0 everywhere",
    "Floor": "floor is flat between its steps: its slope is 0 everywhere",
    "Ceil": "ceil is flat between its steps: its slope is 0 everywhere",
    "Trunc": "trunc is flat between its steps: its slope is 0 everywhere",
    "Sign": "sign is flat on both sides of 0: its slope is 0 everywhere",
    "Sgn": "sign is flat on both sides of 0: its slope is 0 everywhere",
    "Relu": "relu is flat below 0, and every value that enters it here is 0 or less",
    "Threshold": "the threshold is flat where it cuts off, and it cuts off every value here",
    "Hardtanh": "it is flat outside its limits, and every value here lies outside",
    "Clamp": "clamp is flat outside its limits, and every value here lies outside",
    "Mul": "the other factor is 0",
    "Mm": "the other factor is 0",
    "Mv": "the other factor is 0",
    "Dot": "the other factor is 0",
    "Addmm": "the other factor is 0",
    "Zero": "its result is always 0",
}
#: Squashing functions and their slope from their result.
SQUASHING = {
    "SigmoidBackward0": ("sigmoid", lambda s: s * (1 - s)),
    "TanhBackward0": ("tanh", lambda t: 1 - t * t),
}
#: A chain is weak when at least this many factors multiply to less than that.
FEWEST, WEAK = 3, 1e-3


def answers(analysis: RunAnalysis) -> Iterator[Answer]:
    """Why a gradient is 0 and not None, why one is tiny, and which slope a corner was given."""
    for raw in analysis.passes:
        if raw.call == "torch.autograd.grad" and not raw.steps:
            continue
        paths = list(paths_to_leaves(raw))
        yield from _flat(raw, paths, analysis)
        yield from _weak(raw, paths, analysis)
        yield from _corners(raw, analysis)


def _flat(raw: RawPass, paths: list[Path], analysis: RunAnalysis) -> Iterator[Answer]:
    stopped: dict[int, list[str]] = {}
    for path in paths:
        grad = path.leaf.grad if path.leaf.numel() else None
        if path.arrived is None or _any(path.arrived) or grad is None or bool(grad.any()):
            continue
        step = next((s for s in path.steps if _comes(s) and not _goes(s, raw, path)), None)
        if step is not None:
            stopped.setdefault(step.function, []).append(analysis.name(path.leaf))
    for function, names in stopped.items():
        node = raw.functions[function]
        kind = type(node).__name__
        why = next((text for start, text in FLAT.items() if kind.startswith(start)), None)
        made = analysis.made_by(node)
        shown = ", ".join(names[:4])
        yield Answer(
            "zero.flat",
            f"Why is the gradient of {shown} 0, and not None?",
            f"The graph is whole, and {shown} was reached. But {analysis.called(node)} hands on 0: "
            + (why or "its slope is 0 at this value")
            + ".",
            _flat_cure(kind),
            made.line if made is not None else raw.line,
            tuple(names),
            "flat",
        )


def _flat_cure(kind: str) -> str:
    if kind.startswith(("Round", "Floor", "Ceil", "Trunc", "Sign", "Sgn")):
        return "Leave it out while training, or give it a slope of your own (a custom Function)."
    if kind.startswith(("Relu", "Threshold", "Hardtanh", "Clamp")):
        return "Start from other values, or use leaky_relu, which has a slope everywhere."
    return ""


def _weak(raw: RawPass, paths: list[Path], analysis: RunAnalysis) -> Iterator[Answer]:
    for path in paths:
        squashed = [s for s in path.line if type(raw.functions[s.function]).__name__ in SQUASHING]
        factors = [_slope(step, raw) for step in squashed]
        known = [factor for factor in factors if factor is not None]
        product = float(np.prod(known)) if known else 1.0
        if len(known) < FEWEST or len(known) < len(factors) or product > WEAK:
            continue
        if path.arrived is None or (not _any(path.arrived) and product > 1e-30):
            continue
        name = analysis.name(path.leaf)
        kinds = {SQUASHING[type(raw.functions[s.function]).__name__][0] for s in squashed}
        what = " and ".join(sorted(kinds))
        product_text = " · ".join(number(factor) for factor in known[:6])
        more = " · …" if len(known) > 6 else ""
        yield Answer(
            "zero.weak",
            f"Why is the gradient of {name} so small?",
            f"On the way to {name} it is multiplied by the slope of {len(known)} {what} functions: "
            f"{product_text}{more} = {number(product)}"
            + (" (the largest of each)" if any(_many(s) for s in squashed) else "")
            + ". The graph is whole; the gradient vanishes.",
            "Use fewer such functions in a row, relu instead, or normalised inputs.",
            analysis.line_of(path.leaf),
            (name,),
            "vanishing",
        )
        return


def _slope(step: RawStep, raw: RawPass) -> float | None:
    """The largest slope of a squashing function at the values it gave."""
    result = step.saved.get("result")
    array = result.array() if isinstance(result, Kept) else None
    if not is_small_array(array):
        return None
    slope = SQUASHING[type(raw.functions[step.function]).__name__][1]
    return float(np.max(np.abs(slope(np.asarray(array, dtype=np.float64)))))


def _many(step: RawStep) -> bool:
    result = step.saved.get("result")
    return isinstance(result, Kept) and int(np.prod(result.shape)) > 1


# -- corners and ties -----------------------------------------------------------------------


def _corners(raw: RawPass, analysis: RunAnalysis) -> Iterator[Answer]:
    for step in raw.steps:
        node = raw.functions[step.function]
        find = CORNERS.get(type(node).__name__)
        made = analysis.made_by(node)
        if find is None or made is None or not _comes(step):
            continue
        arrays = [seen.kept.array() for seen in made.inputs]
        numeric = [a for a in arrays if is_small_array(a)]
        told = find(step, numeric) if numeric else None
        if told is None:
            continue
        name = made.inputs[0].name if made.inputs else made.name
        title, text = (part.format(name=name, line=made.line) for part in told)
        yield Answer("zero.corner", title, text, "", made.line, (name, made.name), "kink")


def _relu(step: RawStep, arrays: list[Any]) -> tuple[str, str] | None:
    if not _hits(arrays[0] == 0, step):
        return None
    return (
        "What is the slope of relu at 0?",
        "{name} holds exactly 0 where line {line} takes relu, which has a corner there: slope 0 "
        "on the left, 1 on the right. torch takes 0; that is a convention, not a derivative.",
    )


def _abs(step: RawStep, arrays: list[Any]) -> tuple[str, str] | None:
    if not _hits(arrays[0] == 0, step):
        return None
    return (
        "What is the slope of abs at 0?",
        "{name} holds exactly 0 where line {line} takes abs, which has a corner there: slope −1 "
        "on the left, 1 on the right. torch takes 0; that is a convention, not a derivative.",
    )


def _shared(step: RawStep, arrays: list[Any]) -> tuple[str, str] | None:
    array = arrays[0]
    dims = step.saved.get("dim")
    axes = tuple(dims) if isinstance(dims, list) and dims else None
    best = [array == f(array, axis=axes, keepdims=True) for f in (np.max, np.min)]
    counts = [int(b.sum(axis=axes).max()) if _is_extreme(step, array, b) else 1 for b in best]
    count = max(counts)
    if count < 2:
        return None
    which = "largest" if counts[0] >= 2 else "smallest"
    return (
        f"Who gets the gradient when several elements are the {which}?",
        f"{count} elements of {{name}} tie on line {{line}}. torch gives each 1/{count} of the "
        "gradient here; max(dim=…) would give all of it to one of them. Both are conventions.",
    )


def _is_extreme(step: RawStep, array: Any, best: Any) -> bool:
    """Whether the gradient went to these elements."""
    grad = step.grads_out[0].array() if step.grads_out and step.grads_out[0] is not None else None
    return is_small_array(grad) and grad.shape == array.shape and bool(((grad != 0) <= best).all())


def _picked(step: RawStep, arrays: list[Any]) -> tuple[str, str] | None:
    array, dim = arrays[0], step.saved.get("dim")
    if not isinstance(dim, int) or array.ndim == 0:
        return None
    axis = dim - 2**64 if dim >= 2**63 else dim
    grad = step.grads_out[0].array() if step.grads_out and step.grads_out[0] is not None else None
    if not is_small_array(grad) or grad.shape != array.shape:
        return None
    value = np.take_along_axis(array, np.expand_dims(np.abs(grad).argmax(axis), axis), axis)
    count = int((array == value).sum(axis).max())
    if count < 2:
        return None
    return (
        "Which of several equal elements gets the gradient?",
        f"{count} elements of {{name}} tie on line {{line}}. With dim=… torch gives all of the "
        "gradient to the one whose index it returns; amax would share it. Both are conventions.",
    )


def _equal_pair(step: RawStep, arrays: list[Any]) -> tuple[str, str] | None:
    if len(arrays) < 2 or not _hits(np.equal(*np.broadcast_arrays(*arrays[:2])), step):
        return None
    return (
        "Who gets the gradient when both are equal?",
        "On line {line} elements of {name} equal those they are compared with. torch gives each "
        "half of the gradient; that is a convention, not a derivative.",
    )


CORNERS = {
    "ReluBackward0": _relu,
    "AbsBackward0": _abs,
    "MaxBackward1": _shared,
    "MinBackward1": _shared,
    "AmaxBackward0": _shared,
    "AminBackward0": _shared,
    "MaxBackward0": _picked,
    "MinBackward0": _picked,
    "MaximumBackward0": _equal_pair,
    "MinimumBackward0": _equal_pair,
}


def _hits(where: Any, step: RawStep) -> bool:
    """Whether a gradient arrives where the condition holds."""
    grad = step.grads_in[0].array() if step.grads_in and step.grads_in[0] is not None else None
    if not is_small_array(grad) or grad.shape != where.shape:
        return bool(where.any())
    return bool((where & (grad != 0)).any())


def _any(kept: Kept) -> bool:
    array = kept.array()
    if isinstance(array, np.ndarray):
        return bool(array.any())
    return array is None or array.norm > 0


def _comes(step: RawStep) -> bool:
    return any(_any(kept) for kept in step.grads_in if kept is not None)


def _goes(step: RawStep, raw: RawPass, path: Path) -> bool:
    """Whether a gradient other than 0 is handed on towards the leaf."""
    targets = raw.functions[step.function].next_functions
    return any(
        kept is not None and target in path.nodes and _any(kept)
        for (target, _), kept in zip(targets, step.grads_out, strict=False)
    )
