"""Gradients so large that a step throws a parameter far away, as after many uses of one weight."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.recording.events import OptimizerUse
from explorer.trace.recording.passes import RawPass
from explorer.trace.recording.torchviz_graph import leaf_of
from explorer.trace.records import Summary
from explorer.trace.text import number

#: A step that is so many times as long as the parameter itself throws it away.
LONG = 10.0
#: From so many uses of a weight in one pass on, they are the reason.
MANY_USES = 5


@dataclass(frozen=True)
class LongStep:
    """A step of an optimizer that is longer than the parameter: the Euclidean norms of the gradient
    and of the value before, the learning rate, and how often the pass uses the parameter."""

    name: str
    gradient: float
    value: float
    rate: float
    uses: int
    use: OptimizerUse

    @property
    def text(self) -> str:
        norms = (
            f"{self.name}.grad has the norm {number(self.gradient)}, {self.name} itself "
            f"{number(self.value)}. So a step of {number(self.rate)} times the gradient throws "
            f"{self.name} far away."
        )
        if self.uses < MANY_USES:
            return norms
        return (
            f"The loss depends on {self.name} through {self.uses} uses in one pass. Where they "
            f"follow each other, backward multiplies by {self.name} at each, and the gradient can "
            f"grow without a limit: {norms}"
        )


def longest_step(analysis: RunAnalysis) -> LongStep | None:
    """The longest step of plain gradient descent in a recorded pass, as compared to its parameter;
    None if none is long. Other optimizers do not move by the gradient itself."""
    found = [
        step
        for use in analysis.recorder.events.optimizers.values()
        if isinstance(use.optimizer, torch.optim.SGD) and use.steps
        for raw in analysis.passes
        for step in _steps(raw, use, analysis)
    ]
    return max(found, key=lambda step: step.gradient / step.value, default=None)


def _steps(raw: RawPass, use: OptimizerUse, analysis: RunAnalysis) -> Iterator[LongStep]:
    held = {id(p) for p in use.parameters()}
    for step in raw.steps:
        leaf = leaf_of(raw.functions[step.function])
        record = raw.leaves.get(id(leaf))
        if leaf is None or id(leaf) not in held or record is None:
            continue
        gradient, value = _norm(step.after), _norm(record.captured)
        rate = use.group_of(leaf).get("lr")
        if not isinstance(rate, float | int) or not 0 < value < gradient < np.inf:
            continue
        if rate * gradient > LONG * value:
            name, uses = analysis.name_of(leaf), _uses(leaf, raw)
            yield LongStep(name, gradient, value, float(rate), uses, use)


def _norm(values: CapturedValues | None) -> float:
    """The Euclidean norm; NaN if it is not known."""
    array = values.array() if values is not None else None
    if isinstance(array, Summary):
        return float(array.norm)
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        return float("nan")
    return float(np.linalg.norm(array.astype(np.float64)))  # squares may be too large for float32


def _uses(leaf: torch.Tensor, raw: RawPass) -> int:
    """How many nodes of a pass give this leaf a gradient."""
    targets = (target for node in raw.functions for target, _ in node.next_functions)
    return sum(target is not None and leaf_of(target) is leaf for target in targets)


def clipped(step: LongStep, analysis: RunAnalysis) -> tuple[str, str | None]:
    """The cure, and the program that clips the gradients before the step."""
    draft = analysis.draft()
    clip = draft.name_in_torch("torch.nn.utils.clip_grad_norm_")
    made, statement = draft.call(step.use.line, "SGD"), draft.statement(step.use.stepped)
    given = draft.of(made.args[0]) if made is not None and made.args else "parameters"
    is_plain = made is not None and made.args and isinstance(made.args[0], ast.List | ast.Call)
    if is_plain and statement is not None:
        draft.insert_before(statement, f"{clip}({given}, 1.0)")
    cure = f"Clip the gradients before the step: {clip}({given}, 1.0). A smaller learning rate "
    return f"{cure}may help as well.", draft.changed()
