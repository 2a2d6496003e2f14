"""What a step works from and what the optimizer keeps, as tensors by parameter name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from explorer.training.optimizer_spec import OptimizerSpec


@dataclass
class Evaluated:
    """What is known after a step that computed the loss itself: how often, and where it ended."""

    evaluations: int
    after: dict[str, Tensor]

    def state(self, name: str) -> dict[str, Any]:
        """What the rule of such an optimizer is given for this parameter."""
        return {"evaluations": self.evaluations, "after": self.after[name]}


@dataclass
class StepInput:
    """What a step works from: by parameter name, as independent tensors.

    `own` are the settings of parameters that are not in the first group.
    """

    parameters: dict[str, Tensor]
    grads: dict[str, Tensor | None]
    optimizer: dict[str, dict[str, Any]]
    hyper: dict[str, Any]
    own: dict[str, dict[str, Any]] = field(default_factory=dict)
    evaluated: Evaluated | None = None

    def settings_of(self, name: str) -> dict[str, Any]:
        """The settings of this parameter's group."""
        return self.own.get(name, self.hyper)


def read_buffers(
    spec: OptimizerSpec, optimizer: Any, parameters: Mapping[str, Tensor], name: str
) -> dict[str, Tensor]:
    """What the optimizer keeps for this parameter, by torch's names."""
    if not spec.evaluates:
        state = optimizer.state.get(parameters[name], {})
        return {key: value for key, value in state.items() if isinstance(value, Tensor)}
    # One state for all parameters, with vectors that hold all of them in a row.
    state = optimizer.state.get(next(iter(parameters.values())), {})
    lengths = [2 * p.numel() if p.is_complex() else p.numel() for p in parameters.values()]
    place, shape = list(parameters).index(name), parameters[name].shape
    buffers = {}
    for key in spec.state:
        value = state.get(key)
        if isinstance(value, Tensor) and value.dim() == 1:
            part = value.split(lengths)[place]
            value = part.view(shape) if part.numel() == shape.numel() else part.view(*shape, 2)
        if value is not None:
            buffers[key] = torch.as_tensor(value)
    return buffers
