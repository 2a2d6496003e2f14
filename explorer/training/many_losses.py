"""The loss at many places in one pass: the parameters as batches of values, by `torch.func.vmap`.

https://docs.pytorch.org/docs/stable/generated/torch.func.vmap.html

A small loss takes far longer to call than to compute, so this is up to a hundred times as fast as
one call for each place. Whatever refers to a parameter uses its batch, in whichever module, list or
closure it stands: torch tells a function mode every tensor that is passed to it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from explorer.training.problem import Live, random_stream

#: Places that are computed together at first, and the seconds of one pass up to which the next has
#: four times as many: then it holds no more than a few tens of MB.
FIRST, QUICK = 16, 0.002

_functorch: Any = torch._C._functorch
_HAS_GRAPH = Tensor.requires_grad.__get__  # type: ignore[attr-defined]
_IS_LEAF = Tensor.is_leaf.__get__  # type: ignore[attr-defined]


class _Batches(TorchFunctionMode):
    """Puts batches in the place of parameters. What was computed from them says that it has a
    graph, as it would without this."""

    def __init__(self, batches: dict[int, Tensor]) -> None:
        super().__init__()
        self.batches = batches

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (_HAS_GRAPH, _IS_LEAF):
            (tensor,) = args
            return func == _HAS_GRAPH if _functorch.is_batchedtensor(tensor) else func(tensor)
        return func(*self._replace(args), **self._replace(kwargs or {}))

    def _replace(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.batches.get(id(value), value)
        if type(value) in (tuple, list):
            return type(value)(self._replace(item) for item in value)
        if type(value) is dict:
            return {key: self._replace(item) for key, item in value.items()}
        return value


def many_losses(live: Live, points: np.ndarray) -> list[float]:
    """The loss at these points, rows of all numbers joined.

    Raises whatever torch raises of a loss that cannot be computed so, such as one with an `if`
    about a number; the instance may then be in any state.
    """
    parameters = list(live.parameters.values())
    parts = torch.from_numpy(points).split([p.numel() for p in parameters], dim=1)
    values = [
        part.to(p.dtype).reshape(-1, *p.shape) for part, p in zip(parts, parameters, strict=True)
    ]

    def loss(*batches: Tensor) -> Tensor:
        by_parameter = {id(p): batch for p, batch in zip(parameters, batches, strict=True)}
        with _Batches(by_parameter):
            return live.loss()

    losses: list[float] = []
    few = FIRST
    with random_stream(live.random), _without_loops(), torch.no_grad():
        while len(losses) < len(points):
            # Like every place by itself: the same random numbers in all.
            torch.default_generator.set_state(live.random)
            start = time.thread_time()
            now = [value[len(losses) : len(losses) + few] for value in values]
            losses += torch.func.vmap(loss, randomness="same")(*now).reshape(-1).tolist()
            few *= 4 if time.thread_time() - start < QUICK else 1
    return losses


@contextmanager
def _without_loops() -> Iterator[None]:
    """Let vmap refuse operators that it could only call again and again, with a warning."""
    before = _functorch._is_vmap_fallback_enabled()
    _functorch._set_vmap_fallback_enabled(False)
    try:
        yield
    finally:
        _functorch._set_vmap_fallback_enabled(before)
