"""The loops of a program. Who watches a long one need not look at every turn of it."""

from __future__ import annotations

import operator
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

#: Python's own collections and iterators of which `length_hint` is exact.
_SIZED = (range, list, tuple, dict, set, frozenset, str, deque)
_EMPTY: tuple[Any, ...] = (range(0), [], (), {}, set(), "", deque(), reversed([]))
_ITERATORS = {type(iter(empty)) for empty in _EMPTY}


@dataclass(slots=True, eq=False)
class Turns:
    """One loop while it runs, or what else repeats statements.

    `is_within` says whether the turn of the loop around it is recorded, `is_recorded` whether its
    own is, the `index`-th from 1; there will be `length` turns, None where that is not known. When
    it began, so many backward `passes` had run. `first` is the turn from which on all do the same,
    which is known of so many `kinds`, and `last` the latest that was recorded."""

    is_within: bool = True
    is_recorded: bool = True
    length: int | None = None
    index: int = 0
    passes: int = 0
    first: int = 1
    last: int = 0
    kinds: int = 0


#: What is not repeated.
ONCE = Turns()


def length_of(items: Any) -> int | None:
    """How many items there will be; None where that is not certain. Takes no item; of a program's
    code, it runs only the `__len__` of a Dataset."""
    kind = type(items)
    if kind in _SIZED:
        return len(items)
    if kind in _ITERATORS:
        length = operator.length_hint(items, -1)
        return length if length >= 0 else None
    if kind in (enumerate, zip):
        _, arguments, *_ = items.__reduce__()
        parts = arguments[:1] if kind is enumerate else arguments
        lengths = [length_of(part) for part in parts]
        return None if None in lengths else min(lengths, default=0)  # type: ignore[type-var]
    if kind is torch.Tensor:
        with torch._C.DisableTorchFunction():
            return items.shape[0] if items.dim() else None
    if str(kind.__module__).startswith("tqdm.") and hasattr(items, "iterable"):
        return length_of(items.iterable)
    if isinstance(items, DataLoader | _BaseDataLoaderIter):
        with suppress(Exception):
            return len(items) - getattr(items, "_num_yielded", 0)
    return None
