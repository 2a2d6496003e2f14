"""What an optimizer did not do, did without a gradient, or did too far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from explorer.trace.events import OptimizerUse
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis, is_small_array, short
from explorer.trace.tensor_registry import LiveTensor
from explorer.trace.text import number
from explorer.trace.torchviz_graph import walk

#: Fewest losses in a list that are worth a word.
FEW_LOSSES = 2
#: Points from which a factor is read: three steps, two factors.
FEWEST_POINTS = 4


def answers(analysis: RunAnalysis) -> Iterator[Answer]:
    """Tensors it does not hold or skips, idle movement, divergence, and kept graphs."""
    optimizers = [h for h in analysis.recorder.events.optimizers.values() if h.steps]
    if optimizers:
        yield from _not_held(optimizers, analysis)
    for held in optimizers:
        yield from _skipped(held)
        yield from _moved(held, analysis)
    yield from _diverges(analysis)
    yield from _kept_graphs(analysis)


def _not_held(optimizers: list[OptimizerUse], analysis: RunAnalysis) -> Iterator[Answer]:
    held = {id(p) for optimizer in optimizers for p in optimizer.parameters()}
    free = [
        seen
        for seen in analysis.finals.values()
        if isinstance(seen, LiveTensor)
        and seen.is_leaf
        and seen.requires_grad
        and id(seen.tensor) in analysis.reached
        and id(seen.tensor) not in held
    ]
    if not free:
        return
    names = tuple(dict.fromkeys(analysis.name(seen.tensor) for seen in free))
    verb = "does" if len(names) == 1 else "do"
    shown = ", ".join(names[:4])
    kind = type(optimizers[0].optimizer).__name__
    yield Answer(
        "optimizer.not-held",
        f"Why {verb} {shown} not change?",
        f"{shown} had a gradient, but {kind} was not given {'it' if len(names) == 1 else 'them'}: "
        "step() changes only the tensors in its list.",
        f"Add {names[0]} to the list the optimizer is made with.",
        free[0].line,
        names,
        "optimizer",
    )


def _skipped(held: OptimizerUse) -> Iterator[Answer]:
    if not held.skipped:
        return
    names = tuple(held.skipped)
    line = next(iter(held.skipped.values()))
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    were = "it was" if len(names) == 1 else "they were"
    yield Answer(
        "optimizer.skipped",
        f"Why did the step on line {line} leave {shown} as {were}?",
        "step() skips a tensor whose .grad is None: also its momentum and weight decay wait.",
        "Run backward through it before the step.",
        line,
        names,
        "optimizer",
    )


def _moved(held: OptimizerUse, analysis: RunAnalysis) -> Iterator[Answer]:
    for name, (line, old, new) in held.moved.items():
        parameter = next((p for p in held.parameters() if analysis.name(p) == name), None)
        group = held.group_of(parameter) if parameter is not None else {}
        group = {key: value for key, value in group.items() if key == "betas" or _is_number(value)}
        kind = type(held.optimizer).__name__
        causes = []
        if group.get("weight_decay"):
            causes.append(f"weight_decay = {number(group['weight_decay'])} pulls it towards 0")
        if group.get("momentum"):
            causes.append(
                f"momentum = {number(group['momentum'])} carries earlier gradients further"
            )
        elif "betas" in group:
            causes.append(f"{kind} carries a mean of earlier gradients further")
        yield Answer(
            "optimizer.idle",
            f"Why does {name} move although its gradient is 0?",
            f"The step on line {line} took {name} from {short(old.array())} to "
            f"{short(new.array())}: " + (" and ".join(causes) or f"{kind} does so") + ".",
            "To hold it still set its .grad to None: step() then skips it.",
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
        moves, turns = np.diff(v, axis=0), np.diff(g, axis=0)
        if not np.isfinite(v).all() or not np.isfinite(g).all() or (moves == 0).all(axis=0).all():
            continue
        with np.errstate(all="ignore"):
            factors = moves[1:] / moves[:-1]
            curvatures = turns / moves
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
    name = analysis.name(leaf)
    part = f"{name}[{i}]" if leaf.dim() == 1 and leaf.numel() > 1 else name
    return Answer(
        "optimizer.diverges",
        f"Why does {part} fly away?",
        f"The slope at {part} changes by {number(curvature)} per unit (the curvature), and the "
        f"learning rate is {number(rate)}. Each step multiplies the distance to the minimum by "
        f"1 − {number(rate)} · {number(curvature)} = {number(factor)}: it jumps across, and "
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
            kept = [t for t in value if isinstance(t, torch.Tensor) and t.grad_fn is not None]
            done = [t for t in kept if id(t.grad_fn) in roots]
            if len(done) < FEW_LOSSES:
                continue
            count, size = len(kept), len(walk([done[0]]))
            yield Answer(
                "optimizer.kept-graphs",
                f"Why does memory grow with {name}?",
                f"{name} holds {count} results together with their graphs, {size} nodes each: "
                "every tensor those graphs lead to stays in memory.",
                f"Keep the numbers: {name}.append(loss.item()).",
                _line_of(name, analysis),
                (name,),
                "graph",
            )
        elif isinstance(value, torch.Tensor) and value.grad_fn is not None:
            inside = {id(node) for node in walk([value])} & roots
            if len(inside) >= FEW_LOSSES and id(value.grad_fn) not in roots:
                yield Answer(
                    "optimizer.kept-graphs",
                    f"Why does memory grow with {name}?",
                    f"{name} adds up results together with their graphs, so all of them stay in "
                    "memory.",
                    f"Add the number: {name} += loss.item().",
                    _line_of(name, analysis),
                    (name,),
                    "graph",
                )


def _line_of(name: str, analysis: RunAnalysis) -> int | None:
    lines = [s.line for s in analysis.every if s.name == name or s.name.startswith(f"{name}[")]
    return lines[0] if lines else None
