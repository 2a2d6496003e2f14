"""Everything a training run holds besides its graph, as an independent copy."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from explorer.trace.codec import from_plain

#: What Python and torch add to the elements of one kept tensor, roughly, in bytes.
OVERHEAD = 700


@dataclass
class Track:
    """What the curves show: one loss per forward, one gradient norm per backward.

    `loss_steps[i]` is the number of steps taken before `losses[i]`; likewise `norm_steps`.
    `passes` counts the backward passes summed up in `.grad`. `trouble` says where the run became
    infinite or NaN.
    """

    steps: int = 0
    passes: int = 0
    losses: list[float] = field(default_factory=list)
    loss_steps: list[int] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    norm_steps: list[int] = field(default_factory=list)
    trouble: str = ""

    def mark(self) -> tuple[int, int, int, int, str]:
        return self.steps, self.passes, len(self.losses), len(self.norms), self.trouble

    def return_to(self, mark: tuple[int, int, int, int, str]) -> None:
        """Forget what came after `mark()` was taken."""
        self.steps, self.passes, losses, norms, self.trouble = mark
        del self.losses[losses:], self.loss_steps[losses:]
        del self.norms[norms:], self.norm_steps[norms:]


@dataclass(frozen=True)
class Values:
    """A point of the run to which it can return. No tensor here is shared with the live objects.

    `track` is the run's own, which goes on growing; `mark` is where it stood. `optimizer` is
    torch's state per parameter ("momentum_buffer", "exp_avg", "step"), `state` what else the
    loss may change, `random` the state of the random stream.
    """

    seed: int
    parameters: dict[str, Tensor]
    grads: dict[str, Tensor | None]
    optimizer: dict[str, dict[str, Any]]
    state: dict[str, Any]
    random: Tensor
    hyper: dict[str, Any]
    track: Track
    mark: tuple[int, int, int, int, str]

    @cached_property
    def nbytes(self) -> int:
        """Roughly the memory held, without the random state (which is shared)."""
        held = (self.parameters, self.grads, self.optimizer, self.state)
        return sum(_nbytes(part) for part in held)


def _nbytes(value: Any) -> int:
    if isinstance(value, Tensor):
        return value.nbytes + OVERHEAD
    if isinstance(value, dict):
        return sum(map(_nbytes, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_nbytes, value))
    return sys.getsizeof(value)


def copied(value: Any) -> Any:
    """An independent copy of tensors in dicts, lists and tuples; the rest is immutable."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(copied(item) for item in value)
    return value


def to_data(value: Any) -> Any:
    """Tensors in dicts, tuples and lists as what JSON can carry (with `codec.to_plain`)."""
    if isinstance(value, Tensor):
        return {"tensor": str(value.dtype).removeprefix("torch."), "array": _bits(value)}
    if isinstance(value, dict):
        return {"dict": [[to_data(k), to_data(v)] for k, v in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [to_data(item) for item in value]}
    if isinstance(value, list):
        return [to_data(item) for item in value]
    return value


def from_data(data: Any) -> Any:
    """Rebuild what `to_data` made. Raises KeyError, TypeError or ValueError on other data."""
    if isinstance(data, list):
        return [from_data(item) for item in data]
    if not isinstance(data, dict):
        return data
    if "tensor" in data:
        dtype = getattr(torch, data["tensor"])
        array = from_plain(np.ndarray, data["array"])
        return torch.from_numpy(array.copy()).view(dtype)
    if "tuple" in data:
        return tuple(from_data(item) for item in data["tuple"])
    return {from_data(k): from_data(v) for k, v in data["dict"]}


def _bits(tensor: Tensor) -> np.ndarray:
    """The elements as numpy holds them; bfloat16, which it lacks, as int16 of the same bits."""
    plain = tensor.detach().contiguous()
    if plain.dtype == torch.bfloat16:
        plain = plain.view(torch.int16)
    bits: np.ndarray = plain.numpy().copy()
    return bits
