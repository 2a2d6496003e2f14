"""Where the history of a tensor was lost, and what was written in place.

A cut is remembered with the value that came out of it (a tensor, a number, an array) and handed
on to whatever is computed from that value, so that a missing gradient can name its line.
"""

from __future__ import annotations

import ast
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from explorer.language.thread_safe_ast import parse_tree

#: Values without history remembered for each function on each line; older ones are let go.
MOST_VALUES = 8
#: Writes remembered in all; cuts handed on to one value.
MOST_WRITES, MOST_CUTS = 300, 4

#: Functions whose result has no history, and why, as the end of "… on line 4: ".
CAUSES: dict[str, str] = {
    "detach": "detach() gives the same values without their history",
    "detach_": "detach_() removes the history",
    "data": ".data gives the same values without their history",
    "item": "item() gives a plain Python number, which has no history",
    "__float__": "float() gives a plain Python number, which has no history",
    "__int__": "int() gives a plain Python number, which has no history",
    "tolist": "tolist() gives plain Python numbers, which have no history",
    "numpy": "numpy() gives an array, and autograd does not record what numpy computes",
    "__array__": "autograd does not record what numpy computes",
    "tensor": "torch.tensor(t) copies only the numbers, not their history",
    "as_tensor": "only the numbers are copied, not their history",
    "argmax": "argmax gives a position, an integer, which has no derivative",
    "argmin": "argmin gives a position, an integer, which has no derivative",
    "argsort": "argsort gives positions, integers, which have no derivative",
    "no_grad": "nothing is recorded inside torch.no_grad()",
    "bool": "a comparison gives True or False, which has no derivative",
    "integer": "integers have no gradient",
    "other": "this function has no derivative",
}


@dataclass(frozen=True, eq=False)
class Cut:
    """The operation after which nothing leads back to `tensor`; `how` is a key of `CAUSES`."""

    line: int
    how: str
    function: str
    tensor: torch.Tensor
    name: str


@dataclass(frozen=True, eq=False)
class Write:
    """A change in place. `order` is the number of tensors recorded before it."""

    order: int
    line: int
    function: str
    storage: int
    name: str


class History:
    """Follows values that have left the graph."""

    def __init__(self) -> None:
        self.values: dict[int, tuple[Callable[[], Any], tuple[Cut, ...]]] = {}
        self.names: dict[str, tuple[Cut, ...]] = {}
        self.writes: deque[Write] = deque(maxlen=MOST_WRITES)
        self._places: dict[tuple[int, str], deque[int]] = {}
        self._latest: tuple[int, tuple[Cut, ...]] = (0, ())

    @property
    def active(self) -> bool:
        """Whether anything has left the graph so far."""
        return bool(self.values or self.names or self._latest[0])

    def of(self, value: Any) -> tuple[Cut, ...]:
        """The cuts this very object came out of."""
        known = self.values.get(id(value))
        return known[1] if known is not None and known[0]() is value else ()

    def among(self, values: Iterable[Any]) -> tuple[Cut, ...]:
        """The cuts of several objects, each once."""
        if not self.values:
            return ()
        return _merged(cut for value in values for cut in self.of(value))

    def lost(self, value: Any, cuts: tuple[Cut, ...], line: int, function: str) -> None:
        """`value` came out of these cuts."""
        place = self._places.setdefault((line, function), deque())
        if len(place) >= MOST_VALUES:
            self.values.pop(place.popleft(), None)
        place.append(id(value))
        self.values[id(value)] = (_held(value), cuts)

    def escaped(self, value: Any, cut: Cut) -> None:
        """A plain value was read out of a tensor. Small whole numbers have no identity."""
        if isinstance(value, float | np.ndarray | list):
            self.lost(value, (cut,), cut.line, cut.function)
        self._latest = (cut.line, (cut,))

    def bound(self, line: int, text: str, name: str, value: Any) -> None:
        """A name was given a value by the statement `text`.

        Arithmetic on plain numbers makes new objects: there the names in the statement say where
        a value came from.
        """
        if isinstance(value, float | int | np.ndarray | list | tuple):
            cuts = self.of(value) or self.named(line, text)
            if cuts:
                self.names[name] = cuts
            else:
                self.names.pop(name, None)

    def named(self, line: int, text: str) -> tuple[Cut, ...]:
        """The cuts behind the plain numbers a statement reads, by their names."""
        here = self._latest[1] if self._latest[0] == line else ()
        if not self.names:
            return here
        used = (self.names.get(name, ()) for name in names_read(text))
        return _merged((*here, *(cut for cuts in used for cut in cuts)))


def cause(function: str, result: Any, recording: bool) -> str:
    """Which of `CAUSES` applies to a result without history."""
    if function in CAUSES:
        return function
    if not recording:
        return "no_grad"
    if isinstance(result, torch.Tensor) and not result.is_floating_point():
        return "bool" if result.dtype == torch.bool else "integer"
    return "other"


@lru_cache(maxsize=512)
def names_read(statement: str) -> frozenset[str]:
    """The names a statement reads, also the first line of a compound one."""
    try:
        tree = parse_tree(statement if not statement.endswith(":") else f"{statement} pass")
    except (SyntaxError, ValueError):
        return frozenset()
    loads = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return frozenset(node.id for node in loads)


def _held(value: Any) -> Callable[[], Any]:
    """Gives the value back: tensors and arrays as long as they live, anything else always."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _merged(cuts: Iterable[Cut]) -> tuple[Cut, ...]:
    return tuple({id(cut): cut for cut in cuts}.values())[:MOST_CUTS]
