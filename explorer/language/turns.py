"""The `for` loops of a program: how many turns each is certain to have left.

Whoever watches a long loop need not look at every turn of it: what a statement does now will be
done again by a later turn, unless the loop ends early. A loop that contains `break` or `return` has
no Turns, nor has a `while` loop: how many turns they will have is UNKNOWN.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from explorer.language.watcher import Watcher

#: Python's own collections and iterators of which `length_hint` is exact.
_SIZED = (range, list, tuple, dict, set, frozenset, str, deque)
_EMPTY: tuple[Any, ...] = (range(0), [], (), {}, set(), "", deque(), reversed([]))
_ITERATORS = {type(iter(empty)) for empty in _EMPTY}


class Turns:
    """An iterator over the items of a loop. `left` is how often the statements of its body are
    certain to run again after the current turn, in this loop and the ones around it, or
    UNKNOWN."""

    __slots__ = ("_items", "left")

    def __init__(self, items: Iterator[Any], left: float) -> None:
        self._items, self.left = items, left

    def __iter__(self) -> Turns:
        return self

    def __next__(self) -> Any:
        item = next(self._items)
        self.left -= 1
        return item


class Loops:
    """Makes the Turns of one run; a loop is known by its number."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._lengths: dict[int, int] = {}

    def turns(self, number: int, items: Any) -> Turns:
        """The turns of a loop that begins now, over `items`.

        A turn of the loop around it counts as many as it will have here: if it had as many the
        last time, that is taken for certain.
        """
        line = self._watcher.line
        length = length_of(items)
        self._watcher.line = line
        if length <= 0:
            return Turns(iter(items), 0)
        around = self._watcher.left if self._lengths.get(number) == length else 0
        self._lengths[number] = length
        return Turns(iter(items), length + around * length)


def length_of(items: Any) -> int:
    """How many items there will be, or -1 where that is not certain. Takes no item; of a
    program's code, it runs only the `__len__` of a Dataset."""
    kind = type(items)
    if kind in _SIZED:
        return len(items)
    if kind in _ITERATORS:
        return operator.length_hint(items, -1)
    if kind in (enumerate, zip):
        _, arguments, *_ = items.__reduce__()
        parts = arguments[:1] if kind is enumerate else arguments
        return min(map(length_of, parts), default=0)
    if kind is torch.Tensor:
        with torch._C.DisableTorchFunction():
            return items.shape[0] if items.dim() else -1
    if kind.__module__.startswith("tqdm.") and hasattr(items, "iterable"):
        return length_of(items.iterable)
    if isinstance(items, DataLoader | _BaseDataLoaderIter):
        with suppress(Exception):
            return len(items)
    return -1
