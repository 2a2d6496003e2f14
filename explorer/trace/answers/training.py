"""Mistakes in a training loop: gradients that add up or are cleared too early, optimizer steps
that change too little or too much, and results that keep their graphs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from explorer.trace.capture import CapturedValues
from explorer.trace.events import OptimizerUse
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis, is_small_array, short_text
from explorer.trace.tensor_registry import LiveTensor
from explorer.trace.text import join_names, number
from explorer.trace.torchviz_graph import walk_graph

#: Fewest losses in a list that are worth an answer.
FEWEST_LOSSES = 2
#: Points from which a factor is read: three steps, two factors.
FEWEST_POINTS = 4


def explain_gradients(analysis: RunAnalysis) -> Iterator[Answer]:
    """`.grad` was not empty when backward ran; step found it empty."""
    yield from _added(analysis)
    yield from _cleared_before_step(analysis)


def explain_steps(analysis: RunAnalysis) -> Iterator[Answer]:
    """Tensors an optimizer does not have or skips, idle movement, divergence, and kept graphs."""
    optimizers = [h for h in analysis.recorder.events.optimizers.values() if h.steps]
    if optimizers:
        yield from _not_given(optimizers, analysis)
    for held in optimizers:
        yield from _skipped(held)
        yield from _moved(held, analysis)
    yield from _diverges(analysis)
    yield from _kept_graphs(analysis)


# -- gradients ------------------------------------------------------------------------------


def _added(analysis: RunAnalysis) -> Iterator[Answer]:
    additions = analysis.recorder.accumulations
    if not additions:
        return
    first = next((a for a in additions if isinstance(a.old, CapturedValues)), additions[0])
    names = tuple(dict.fromkeys(analysis.name_of(a.leaf) for a in additions))
    name = analysis.name_of(first.leaf)
    old = first.old.array() if isinstance(first.old, CapturedValues) else None
    new = first.new.array() if isinstance(first.new, CapturedValues) else None
    line = f"line {first.line}" if first.line else "this page"
    addition = ""
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        addition = f" Here: {short_text(old)} + {short_text(new - old)} = {short_text(new)}."
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    yield Answer(
        "accumulation.added",
        f"Why is {name}.grad different from the gradient of this backward pass?",
        f"{name}.grad{more} already held a gradient when {line} ran backward, and backward adds "
        f"the new gradient to it.{addition}",
        "If you do not want the sum, call optimizer.zero_grad() (or set "
        f"{name}.grad = None) before each backward.",
        first.line,
        names,
        "accumulation",
    )


def _cleared_before_step(analysis: RunAnalysis) -> Iterator[Answer]:
    for held in analysis.recorder.events.optimizers.values():
        if held.empty_step is None:
            continue
        step_line, clear_line = held.empty_step
        yield Answer(
            "accumulation.cleared",
            f"Why does the step on line {step_line} change nothing?",
            f"Line {clear_line} cleared the gradients after backward had filled them, so the step "
            f"on line {step_line} had no gradients to use.",
            "Keep this order: zero_grad(), backward(), step().",
            clear_line,
            (),
            "zero_grad",
        )


# -- steps ----------------------------------------------------------------------------------


def _not_given(optimizers: list[OptimizerUse], analysis: RunAnalysis) -> Iterator[Answer]:
    held = {id(p) for optimizer in optimizers for p in optimizer.parameters()}
    free = [
        record
        for record in analysis.finals.values()
        if isinstance(record, LiveTensor)
        and record.is_leaf
        and record.requires_grad
        and id(record.tensor) in analysis.reached
        and id(record.tensor) not in held
    ]
    if not free:
        return
    names = tuple(dict.fromkeys(analysis.name_of(record.tensor) for record in free))
    kind = type(optimizers[0].optimizer).__name__
    yield Answer(
        "optimizer.not-held",
        f"Why {'does' if len(names) == 1 else 'do'} {join_names(names)} not change?",
        f"{join_names(names)} had a gradient, but {kind} was not given "
        f"{'it' if len(names) == 1 else 'them'}: step() changes only the tensors that the "
        "optimizer was created with.",
        f"Add {names[0]} to the list of parameters when you create the optimizer.",
        free[0].line,
        names,
        "optimizer",
    )


def _skipped(held: OptimizerUse) -> Iterator[Answer]:
    if not held.skipped:
        return
    names = tuple(held.skipped)
    line = next(iter(held.skipped.values()))
    yield Answer(
        "optimizer.skipped",
        f"Why did the step on line {line} not change {join_names(names)}?",
        "step() skips a tensor whose .grad is None: it applies neither momentum nor weight decay "
        "to it.",
        "Run backward through it before the step.",
        line,
        names,
        "optimizer",
    )


def _moved(held: OptimizerUse, analysis: RunAnalysis) -> Iterator[Answer]:
    for name, (line, old, new) in held.moved.items():
        parameter = next((p for p in held.parameters() if analysis.name_of(p) == name), None)
        group = held.group_of(parameter) if parameter is not None else {}
        group = {key: value for key, value in group.items() if key == "betas" or _is_number(value)}
        kind = type(held.optimizer).__name__
        causes = []
        if group.get("weight_decay"):
            causes.append(f"weight_decay = {number(group['weight_decay'])} moves it towards 0")
        if group.get("momentum"):
            causes.append(
                f"momentum = {number(group['momentum'])} continues the movement of earlier steps"
            )
        elif "betas" in group:
            causes.append(f"{kind} uses a running mean, which includes earlier gradients")
        yield Answer(
            "optimizer.idle",
            f"Why does {name} move although its gradient is 0?",
            f"The step on line {line} changed {name} from {short_text(old.array())} to "
            f"{short_text(new.array())}: " + (" and ".join(causes) or f"{kind} does this") + ".",
            "To keep it unchanged, set its .grad to None: step() then skips it.",
            line,
            (name,),
            "momentum" if not group.get("weight_decay") else "weight_decay",
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


# -- divergence -----------------------------------------------------------------------------


def _diverges(analysis: RunAnalysis) -> Iterator[Answer]:
    """Overshooting: each step multiplies the distance to the minimum by 1 − lr · curvature.

    The curvature is the change of the gradient over the change of the value (exact for a
    parabola); the answer is given only where three steps agree with one factor.
    """
    for leaf, points in analysis.recorder.descents.values():
        values = [a for a in (value.array() for value, _ in points) if is_small_array(a)]
        slopes = [a for a in (slope.array() for _, slope in points) if is_small_array(a)]
        if not FEWEST_POINTS <= len(values) == len(slopes) == len(points):
            continue
        v = np.stack(values).reshape(len(points), -1).astype(np.float64)
        g = np.stack(slopes).reshape(len(points), -1).astype(np.float64)
        moves, changes = np.diff(v, axis=0), np.diff(g, axis=0)
        if not np.isfinite(v).all() or not np.isfinite(g).all() or (moves == 0).all(axis=0).all():
            continue
        with np.errstate(all="ignore"):
            factors = moves[1:] / moves[:-1]
            curvatures = changes / moves
            rates = -moves / g[:-1]
        for i in range(v.shape[1]):
            factor, curvature, rate = factors[:, i], curvatures[:, i], rates[:, i]
            if not all(np.isfinite(a).all() for a in (factor, curvature, rate)):
                continue
            same = all(np.ptp(a) <= 0.02 * np.abs(a).max() for a in (factor, curvature, rate))
            if same and factor[-1] < -1.0 and curvature[-1] > 0:
                yield _overshoot(
                    leaf, i, float(factor[-1]), float(curvature[-1]), float(rate[-1]), analysis
                )
                return


def _overshoot(
    leaf: torch.Tensor, i: int, factor: float, curvature: float, rate: float, analysis: RunAnalysis
) -> Answer:
    name = analysis.name_of(leaf)
    part = f"{name}[{i}]" if leaf.dim() == 1 and leaf.numel() > 1 else name
    return Answer(
        "optimizer.diverges",
        f"Why does {part} move further from the minimum with every step?",
        f"The gradient of {part} changes by {number(curvature)} per unit (the curvature), and the "
        f"learning rate is {number(rate)}. Each step multiplies the distance to the minimum by "
        f"1 − {number(rate)} · {number(curvature)} = {number(factor)}: it jumps past the minimum, "
        "further each time.",
        f"Use a learning rate below 2 / {number(curvature)} = {number(2 / curvature)}.",
        analysis.line_of(leaf),
        (name,),
        "learning_rate",
    )


# -- graphs kept alive ----------------------------------------------------------------------


def _kept_graphs(analysis: RunAnalysis) -> Iterator[Answer]:
    roots = {id(root.grad_fn) for raw in analysis.passes for root in raw.roots if root.grad_fn}
    for name, value in list(analysis.variables.items())[:200]:
        if isinstance(value, list | tuple):
            results = [t for t in value if isinstance(t, torch.Tensor) and t.grad_fn is not None]
            losses = [t for t in results if id(t.grad_fn) in roots]
            if len(losses) < FEWEST_LOSSES:
                continue
            count, size = len(results), len(walk_graph([losses[0]]))
            yield Answer(
                "optimizer.kept-graphs",
                f"Why does memory grow with {name}?",
                f"{name} holds {count} results together with their graphs, {size} nodes each: "
                "every tensor in those graphs stays in memory.",
                f"Keep only the numbers: {name}.append(loss.item()).",
                _line_of(name, analysis),
                (name,),
                "graph",
            )
        elif isinstance(value, torch.Tensor) and value.grad_fn is not None:
            inside = {id(node) for node in walk_graph([value])} & roots
            if len(inside) >= FEWEST_LOSSES and id(value.grad_fn) not in roots:
                yield Answer(
                    "optimizer.kept-graphs",
                    f"Why does memory grow with {name}?",
                    f"{name} is a sum of results and contains all their graphs, so all of them "
                    "stay in memory.",
                    f"Add only the number: {name} += loss.item().",
                    _line_of(name, analysis),
                    (name,),
                    "graph",
                )


def _line_of(name: str, analysis: RunAnalysis) -> int | None:
    """The line on which a variable, or its first element, was first made."""
    named = (r for r in analysis.records if r.name == name or r.name.startswith(f"{name}["))
    return next((record.line for record in named), None)
