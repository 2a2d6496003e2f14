"""Gradients that are 0 although the graph is complete: flat operations and vanishing chains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from explorer.trace.capture import CapturedValues
from explorer.trace.passes import RawPass, RawStep
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis, is_small_array
from explorer.trace.text import join_names, number
from explorer.trace.torchviz_graph import leaf_of

_STEPS = "is flat between its steps, so its derivative is 0 everywhere"
_SIGN = "sign is flat on both sides of 0, so its derivative is 0 everywhere"
_FACTOR = "the other factor is 0"
#: Operations whose derivative is nowhere 0: only a sum over broadcast axes can make theirs 0.
SUMMING = ("Add", "Sub", "Expand")
#: Why the gradient is 0 after an operation, by the beginning of its node's name.
FLAT = {
    "Round": f"round {_STEPS}",
    "Floor": f"floor {_STEPS}",
    "Ceil": f"ceil {_STEPS}",
    "Trunc": f"trunc {_STEPS}",
    "Sign": _SIGN,
    "Sgn": _SIGN,
    "Relu": "relu is flat below 0, and every value that enters it here is 0 or less",
    "Threshold": "threshold is flat where it replaces values, and it replaces every value here",
    "Hardtanh": "hardtanh is flat outside its limits, and every value here lies outside",
    "Clamp": "clamp is flat outside its limits, and every value here lies outside",
    "Mul": _FACTOR,
    "Mm": _FACTOR,
    "Mv": _FACTOR,
    "Dot": _FACTOR,
    "Addmm": _FACTOR,
    "Zero": "its result is always 0",
    "Pow": "its derivative is 0 at this value",
}
#: Squashing functions, and their derivative computed from their result.
SQUASHING = {
    "SigmoidBackward0": ("sigmoid", lambda s: s * (1 - s)),
    "TanhBackward0": ("tanh", lambda t: 1 - t * t),
}
#: Normalising functions, and what they give when they normalise over a single element.
OVER_ONE = {"SoftmaxBackward0": ("softmax", 1), "LogSoftmaxBackward0": ("log_softmax", 0)}
#: A chain is weak when at least this many factors multiply to less than that.
FEWEST, WEAK = 3, 1e-3
#: Leaves of one pass that are looked at.
MOST_LEAVES = 40


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Why a gradient is 0 and not None, and why one is tiny."""
    for raw_pass in analysis.passes:
        if raw_pass.call == "torch.autograd.grad" and not raw_pass.steps:
            continue
        paths = list(paths_to_leaves(raw_pass))
        yield from _flat(raw_pass, paths, analysis)
        yield from _weak(raw_pass, paths, analysis)


@dataclass(frozen=True, eq=False)
class Path:
    """All steps of a pass from which the leaf can be reached, in the order they ran.

    `line` is one way through them, from the root to the leaf; `arrived` the gradient at its end.
    """

    leaf: torch.Tensor
    nodes: frozenset[Any]
    steps: list[RawStep]
    line: list[RawStep]
    arrived: CapturedValues | None


def paths_to_leaves(raw_pass: RawPass) -> Iterator[Path]:
    """The Path of every leaf of a pass. The work is leaves times edges: meant for small graphs."""
    users: dict[Any, list[Any]] = {}
    for node in raw_pass.functions:
        for source, _ in node.next_functions:
            if source is not None:
                users.setdefault(source, []).append(node)
    step_at = {raw_pass.functions[step.function]: step for step in raw_pass.steps}
    for node in [n for n in raw_pass.functions if leaf_of(n) is not None][:MOST_LEAVES]:
        above = {node}
        waiting = [node]
        while waiting:
            for user in users.get(waiting.pop(), ()):
                if user not in above:
                    above.add(user)
                    waiting.append(user)
        chain = [node]
        while users.get(chain[-1]):
            chain.append(users[chain[-1]][0])
        last = step_at.get(node)
        yield Path(
            leaf=node.variable,
            nodes=frozenset(above),
            steps=[s for s in raw_pass.steps if raw_pass.functions[s.function] in above],
            line=[step_at[n] for n in reversed(chain) if n in step_at],
            arrived=last.grads_in[0] if last is not None and last.grads_in else None,
        )


# -- flat operations ------------------------------------------------------------------------


def _flat(raw_pass: RawPass, paths: list[Path], analysis: RunAnalysis) -> Iterator[Answer]:
    stopped: dict[int, tuple[RawStep, list[str]]] = {}
    for path in paths:
        grad = path.leaf.grad if path.leaf.numel() else None
        if path.arrived is None or has_nonzero(path.arrived) or grad is None or bool(grad.any()):
            continue
        step = next(
            (s for s in path.steps if receives(s) and not _passes_on(s, raw_pass, path)), None
        )
        if step is not None:
            stopped.setdefault(step.function, (step, []))[1].append(analysis.name_of(path.leaf))
    for step, names in stopped.values():
        node = raw_pass.functions[step.function]
        kind = type(node).__name__
        result = analysis.result_of_node(node)
        shown = join_names(names)
        yield Answer(
            "zero.flat",
            f"Why is the gradient of {shown} 0 and not None?",
            f"The graph is complete, and backward reached {shown}. But {analysis.node_text(node)} "
            f"passes on a gradient of 0: {_cause(kind, step)}.",
            _flat_cure(kind),
            result.line if result is not None else raw_pass.line,
            tuple(names),
            "flat",
        )


def _cause(kind: str, step: RawStep) -> str:
    """Why an operation passes on a gradient of 0."""
    result = _saved_result(step)
    if kind in OVER_ONE and result is not None:
        name, always = OVER_ONE[kind]
        dim = step.saved.get("dim")
        if isinstance(dim, int) and (result.ndim == 0 or result.shape[dim] == 1):
            return f"{name} over one element is always {always}, so its derivative is 0"
    if kind in SQUASHING and result is not None:
        name, derivative = SQUASHING[kind]
        if not derivative(result).any():
            values = join_names(number(value) for value in np.unique(result))
            return f"{name} is saturated (its result is exactly {values}), so its derivative is 0"
    if kind.startswith(SUMMING):
        return "the gradients it receives cancel, they add up to 0"
    flat = (text for start, text in FLAT.items() if kind.startswith(start))
    return next(
        flat,
        "its derivative is 0 at this value"
        if kind.startswith("Pow")
        else "its rule gives 0 for these values",
    )


def _flat_cure(kind: str) -> str:
    if kind.startswith(("Round", "Floor", "Ceil", "Trunc", "Sign", "Sgn")):
        return "Leave it out during training, or write a custom Function with its own derivative."
    if kind.startswith(("Relu", "Threshold", "Hardtanh", "Clamp")):
        return "Start from other values, or use leaky_relu, whose derivative is nowhere 0."
    return ""


# -- vanishing gradients --------------------------------------------------------------------


def _weak(raw_pass: RawPass, paths: list[Path], analysis: RunAnalysis) -> Iterator[Answer]:
    for path in paths:
        squashing = [
            step
            for step in path.line
            if type(raw_pass.functions[step.function]).__name__ in SQUASHING
        ]
        factors = [_largest_derivative(step, raw_pass) for step in squashing]
        known = [factor for factor in factors if factor is not None]
        product = float(np.prod(known)) if known else 1.0
        if len(known) < FEWEST or len(known) < len(factors) or product > WEAK:
            continue
        if path.arrived is None or (not has_nonzero(path.arrived) and product > 1e-30):
            continue
        name = analysis.name_of(path.leaf)
        kinds = {SQUASHING[type(raw_pass.functions[s.function]).__name__][0] for s in squashing}
        factors_text = " · ".join(number(factor) for factor in known[:6])
        more = " · …" if len(known) > 6 else ""
        largest = " (the largest of each)" if any(map(_has_several, squashing)) else ""
        yield Answer(
            "zero.weak",
            f"Why is the gradient of {name} so small?",
            f"On the way back to {name}, the gradient is multiplied by the derivatives of "
            f"{len(known)} {' and '.join(sorted(kinds))} functions: {factors_text}{more} = "
            f"{number(product)}{largest}. The graph is complete, but the gradient vanishes.",
            "Use fewer of these functions in a row, relu instead, or normalised inputs.",
            analysis.line_of(path.leaf),
            (name,),
            "vanishing",
        )
        return


def _largest_derivative(step: RawStep, raw_pass: RawPass) -> float | None:
    """The largest derivative of a squashing function at the values it gave."""
    result = _saved_result(step)
    if result is None:
        return None
    derivative = SQUASHING[type(raw_pass.functions[step.function]).__name__][1]
    return float(np.max(np.abs(derivative(result.astype(np.float64)))))


def _saved_result(step: RawStep) -> np.ndarray | None:
    result = step.saved.get("result")
    array = result.array() if isinstance(result, CapturedValues) else None
    return array if is_small_array(array) else None


def _has_several(step: RawStep) -> bool:
    result = step.saved.get("result")
    return isinstance(result, CapturedValues) and int(np.prod(result.shape)) > 1


# -- gradients at a step --------------------------------------------------------------------


def has_nonzero(captured: CapturedValues) -> bool:
    """Whether any element is not 0; also where the values cannot be read."""
    array = captured.array()
    if isinstance(array, np.ndarray):
        return bool(array.any())
    return array is None or array.norm > 0


def receives(step: RawStep) -> bool:
    """Whether a gradient other than 0 arrived at this step."""
    return any(has_nonzero(kept) for kept in step.grads_in if kept is not None)


def _passes_on(step: RawStep, raw_pass: RawPass, path: Path) -> bool:
    """Whether a gradient other than 0 is passed on towards the leaf."""
    targets = raw_pass.functions[step.function].next_functions
    return any(
        kept is not None and target in path.nodes and has_nonzero(kept)
        for (target, _), kept in zip(targets, step.grads_out, strict=False)
    )
