"""Remembers how a program called losses, and functions that work in another way in training.

A record of a tensor says which operation computed it from which tensors. These functions need
more to be explained: the target of a loss, its reduction, whether dropout was active.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from operator import itemgetter
from types import FrameType
from typing import Any

import torch
from torch import nn

from explorer import limits
from explorer.program.parsing import LineAt

#: Losses of a prediction, called input, and a target.
LOSSES = frozenset(
    [
        *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cross_entropy", "nll_loss"),
        *("binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"),
    ]
)
DROPOUTS = frozenset(
    [
        *("dropout", "dropout1d", "dropout2d", "dropout3d"),
        *("alpha_dropout", "feature_alpha_dropout", "feature_dropout"),
    ]
)
#: The first parameters of every function that is observed. What is passed to it may be positional.
OBSERVED = {
    **dict.fromkeys(LOSSES, ("input", "target")),
    **dict.fromkeys(DROPOUTS, ("input", "p", "training")),
    "batch_norm": ("input", "running_mean", "running_var", "weight", "bias", "training"),
}


_MODULE_CALL = nn.Module._call_impl.__code__


@dataclass(frozen=True, eq=False)
class FunctionCall:
    """One call: its arguments by the names of the parameters, and what it returned.

    `lines` are the program's lines that were running, the innermost first; `modules` the modules
    in the same order, and `modes` whether each of them was in training mode. `order` is the
    number of tensors that had been recorded before, `passes` that of the backward passes, `steps`
    that of the steps of optimizers.
    """

    function: str
    lines: tuple[int, ...]
    arguments: dict[str, Any]
    result: torch.Tensor | torch.Size
    modules: tuple[nn.Module, ...]
    modes: tuple[bool, ...]
    has_grad_mode: bool
    order: int
    passes: int
    steps: int

    @property
    def was_training(self) -> bool:
        """Whether the innermost module was in training mode."""
        return any(self.modes[:1])

    @property
    def line(self) -> int:
        return self.lines[0]

    def tensor(self, name: str) -> torch.Tensor | None:
        """An argument that is a tensor, unless it was too large to be kept."""
        value = self.arguments.get(name)
        return value if isinstance(value, torch.Tensor) else None


class FunctionCalls:
    """The first calls and the latest ones of each line and module."""

    def __init__(self, line_at: LineAt) -> None:
        self._line_at = line_at
        self._first: dict[Any, list[FunctionCall]] = defaultdict(list)
        self._last: dict[Any, list[FunctionCall]] = defaultdict(list)
        #: By the number of records made before: the steps done as recording paused.
        self._pauses: list[tuple[int, int]] = []

    def add(self, name: str, args: Any, kwargs: dict[str, Any], result: Any, *counts: int) -> None:
        """Keep a call from a line of the program. `counts` are `order`, `passes` and `steps`."""
        if not isinstance(result, torch.Tensor):
            return
        lines, modules = _stack(self._line_at)
        if not lines:  # a module that is a hook, in a backward that the program did not call
            return
        place = name, lines[:1], id(modules[0]) if modules else 0
        if place not in self._first and len(self._first) >= limits.MOST_PLACES:
            return
        call = FunctionCall(
            name,
            lines,
            _arguments(name, args, kwargs),
            _kept(result),
            modules,
            tuple(module.__dict__.get("training") is True for module in modules),
            torch.is_grad_enabled(),
            *counts,
        )
        if len(self._first[place]) < limits.FIRST_CALLS:
            self._first[place].append(call)
        else:
            self._last[place].append(call)
            del self._last[place][: -limits.LAST_CALLS]

    def pause(self, order: int, steps: int) -> None:
        """Calls from here on are not recorded, until they are again."""
        self._pauses.append((order, steps))

    def steps_after(self, call: FunctionCall, steps: int) -> int:
        """How many steps had been done when the recording that this call belongs to paused; `steps`
        if it never did."""
        place = bisect_right(self._pauses, call.order, key=itemgetter(0))
        return self._pauses[place][1] if place < len(self._pauses) else steps

    def of(self, functions: frozenset[str]) -> list[FunctionCall]:
        """The calls of these functions that are kept, oldest first."""
        kept = [*self._first.values(), *self._last.values()]
        calls = (call for calls in kept for call in calls if call.function in functions)
        return sorted(calls, key=lambda call: call.order)


def _stack(line_at: LineAt) -> tuple[tuple[int, ...], tuple[nn.Module, ...]]:
    """The running lines of the program and the running modules, the innermost first."""
    lines, modules = [], []
    frame: FrameType | None = sys._getframe(2)
    for _ in range(limits.MOST_STACK_FRAMES):
        if frame is None:
            break
        if line := line_at(frame.f_code.co_filename, frame.f_lineno):
            lines.append(line)
        elif frame.f_code is _MODULE_CALL:
            module = frame.f_locals.get("self")
            if isinstance(module, nn.Module):
                modules.append(module)
        frame = frame.f_back
    return tuple(lines), tuple(modules)


def _arguments(name: str, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name; of large tensors only the shapes."""
    given = dict(zip(OBSERVED[name], args, strict=False)) | kwargs
    return {key: _kept(value) for key, value in given.items()}


def _kept(value: Any) -> Any:
    is_large = isinstance(value, torch.Tensor) and value.numel() > limits.MOST_ARGUMENT_ELEMENTS
    return value.shape if is_large else value


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of an argument, whether or not it was kept; None if it is no tensor."""
    if isinstance(value, torch.Tensor):
        value = value.shape
    return tuple(value) if isinstance(value, torch.Size) else None
