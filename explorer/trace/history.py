"""Records where values are cut from the graph, and which tensors are changed in place.

A cut is stored with the value it produced (a tensor, a number or an array) and passed on to
everything computed from that value, so that a missing gradient can be traced to its line.
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

#: Values without history stored for each function on each line; older ones are discarded.
MOST_VALUES = 8
#: Most writes stored in all, and most cuts stored for one value.
MOST_WRITES, MOST_CUTS = 300, 4

#: Why a function's result has no history, as the end of a sentence: "… on line 4: ".
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
    """An operation whose result has no path back to `tensor`; `cause` is a key of `CAUSES`."""

    line: int
    cause: str
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
    """Follows values that have been cut from the graph."""

    def __init__(self) -> None:
        self.values: dict[int, tuple[Callable[[], Any], tuple[Cut, ...]]] = {}
        self.names: dict[str, tuple[Cut, ...]] = {}
        self.writes: deque[Write] = deque(maxlen=MOST_WRITES)
        #: By line and function: the values stored for them, each by its id with its entry.
        self._stored: dict[tuple[int, str], deque[tuple[int, Any]]] = {}
        #: The last line that read a plain value out of a tensor, and that value's cuts.
        self._last_read: tuple[int, tuple[Cut, ...]] = (0, ())

    @property
    def active(self) -> bool:
        """Whether any value has been cut from the graph so far."""
        return bool(self.values or self.names or self._last_read[0])

    def cuts_of(self, value: Any) -> tuple[Cut, ...]:
        """The cuts behind this object itself; an equal one does not count."""
        entry = self.values.get(id(value))
        return entry[1] if entry is not None and entry[0]() is value else ()

    def cuts_of_any(self, values: Iterable[Any]) -> tuple[Cut, ...]:
        """The cuts behind several objects, each cut once."""
        if not self.values:
            return ()
        return _unique_cuts(cut for value in values for cut in self.cuts_of(value))

    def add_cuts(self, value: Any, cuts: tuple[Cut, ...], line: int, function: str) -> None:
        """Store the cuts behind `value`, which `function` returned on this line."""
        stored = self._stored.setdefault((line, function), deque())
        if len(stored) >= MOST_VALUES:
            key, old = stored.popleft()
            if self.values.get(key) is old:  # a later value may have the id of one that is gone
                del self.values[key]
        entry = (_reference(value), cuts)
        stored.append((id(value), entry))
        self.values[id(value)] = entry

    def add_plain_value(self, value: Any, cut: Cut) -> None:
        """Store that a plain value was read out of a tensor.

        Integers are not stored by id: Python shares one object among all small equal integers.
        """
        if isinstance(value, float | np.ndarray | list):
            self.add_cuts(value, (cut,), cut.line, cut.function)
        self._last_read = (cut.line, (cut,))

    def note_assignment(self, line: int, text: str, name: str, value: Any) -> None:
        """Store the cuts behind `name`, to which the statement `text` assigned `value`.

        Arithmetic on plain numbers creates new objects, so the origin of such a value is taken
        from the names that the statement reads.
        """
        if isinstance(value, float | int | np.ndarray | list | tuple):
            cuts = self.cuts_of(value) or self.cuts_read_by(line, text)
            if cuts:
                self.names[name] = cuts
            else:
                self.names.pop(name, None)

    def cuts_read_by(self, line: int, text: str) -> tuple[Cut, ...]:
        """The cuts behind the plain numbers that the statement `text` on this line reads."""
        from_line = self._last_read[1] if self._last_read[0] == line else ()
        if not self.names:
            return from_line
        from_names = (self.names.get(name, ()) for name in names_read(text))
        return _unique_cuts((*from_line, *(cut for cuts in from_names for cut in cuts)))


def find_cause(function: str, result: Any, recording: bool) -> str:
    """The key in `CAUSES` of the reason why a result has no history."""
    if function in CAUSES:
        return function
    if not recording:
        return "no_grad"
    if isinstance(result, torch.Tensor) and not result.is_floating_point():
        return "bool" if result.dtype == torch.bool else "integer"
    return "other"


@lru_cache(maxsize=512)
def names_read(statement: str) -> frozenset[str]:
    """The names a statement reads; of a compound statement, those on its first line."""
    try:
        tree = parse_tree(statement if not statement.endswith(":") else f"{statement} pass")
    except (SyntaxError, ValueError):
        return frozenset()
    loads = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return frozenset(node.id for node in loads)


def _reference(value: Any) -> Callable[[], Any]:
    """A function that returns the value: weakly held where possible (tensors and arrays)."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _unique_cuts(cuts: Iterable[Cut]) -> tuple[Cut, ...]:
    """The first `MOST_CUTS` cuts, each once."""
    return tuple({id(cut): cut for cut in cuts}.values())[:MOST_CUTS]
