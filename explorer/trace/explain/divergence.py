"""Steps that are too large: each moves a parameter further from the minimum.

Asked at https://github.com/pytorch/pytorch/issues/23142
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np
import torch

from explorer.trace.explain.cures import certain
from explorer.trace.explain.run_analysis import RunAnalysis, is_small_array
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import number

#: Points from which a factor is read: three steps, two factors.
FEWEST_POINTS = 4


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
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
        steepest: list[tuple[float, int, float, float]] = []
        for i in range(v.shape[1]):
            factor, curvature, rate = factors[:, i], curvatures[:, i], rates[:, i]
            if not all(np.isfinite(a).all() for a in (factor, curvature, rate)):
                continue
            same = all(np.ptp(a) <= 0.02 * np.abs(a).max() for a in (factor, curvature, rate))
            if same and factor[-1] < -1.0 and curvature[-1] > 0:
                steepest.append((float(curvature[-1]), i, float(factor[-1]), float(rate[-1])))
        if steepest:
            curvature_, i, factor_, rate_ = max(steepest)
            if not _is_learning_rate(rate_, leaf, analysis):
                continue
            yield _overshoot(leaf, i, factor_, curvature_, rate_, analysis)
            return


def _is_learning_rate(rate: float, leaf: torch.Tensor, analysis: RunAnalysis) -> bool:
    """Whether a step multiplies the gradient by its optimizer's learning rate, which RMSprop and
    others divide; a program that updates the leaf itself has no other."""
    rates = (
        group.get("lr")
        for use in analysis.recorder.events.optimizers.values()
        for group in use.optimizer.param_groups
        if any(parameter is leaf for parameter in group["params"])
    )
    numbers = [float(one) for one in rates if isinstance(one, int | float | torch.Tensor)]
    return all(abs(one - rate) <= 0.02 * rate for one in numbers)


def _overshoot(
    leaf: torch.Tensor, i: int, factor: float, curvature: float, rate: float, analysis: RunAnalysis
) -> Answer:
    name = analysis.name_of(leaf)
    part = f"{name}[{i}]" if leaf.dim() == 1 and leaf.numel() > 1 else name
    return certain(
        Answer(
            key="optimizer.diverges",
            title=f"Why does {part} move further from the minimum with every step?",
            text=f"The gradient of {part} changes by {number(curvature)} per unit (the curvature), "
            "and "
            f"the learning rate is {number(rate)}. Each step multiplies the distance to the "
            f"minimum by 1 − {number(rate)} · {number(curvature)} = {number(factor)}: it jumps "
            "past the minimum, further each time.",
            cure=f"Use a learning rate below 2 / {number(curvature)} = {number(2 / curvature)}.",
            line=analysis.line_of(leaf),
            names=(name,),
            glossary="learning_rate",
            fix=_with_rate(rate, curvature, analysis),
            symptom=Symptom("value", (name,)),
        )
    )


def _with_rate(rate: float, curvature: float, analysis: RunAnalysis) -> str | None:
    """The program with a smaller learning rate, if its text says the present one just once."""
    draft = analysis.draft()
    places = [
        node
        for node in draft.nodes(ast.Constant)
        if isinstance(node.value, int | float) and abs(node.value - rate) <= 0.001 * rate
    ]
    if len(places) == 1:
        draft.replace(places[0], f"{1 / curvature:.1g}")
    return draft.changed()
