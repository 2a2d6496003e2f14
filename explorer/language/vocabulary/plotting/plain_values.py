"""Arguments of plotting calls, converted to plain data at once.

What a program passes may be of any type that it may hold, and change later: arrays are copied, and
nothing of an object is called but what `numpy` does with numbers.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import torch

from explorer.language.errors import OutsideLanguage
from explorer.language.figures import PlotValue
from explorer.language.notices import notice
from explorer.language.vocabulary.stand_in import StandIn

#: Most characters of a text, items of a list that is no array, elements of an array, and levels.
MOST_TEXT, MOST_ITEMS, MOST_ELEMENTS, _DEEPEST = 1000, 2000, 10_000_000, 5

_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()))
_SEQUENCES = (list, tuple, deque, set, frozenset, range, torch.Size, *_VIEWS)
_NUMBERS = frozenset([int, float, bool])
#: What holds many values, and most things in one call that are not numbers in a list.
_LARGE = (*_SEQUENCES, dict, torch.Tensor, np.ndarray)
_MOST_PARTS = 200_000


class Recorded(StandIn):
    """A part of a figure, or a colour map: as an argument it is the plain value `_plain()`."""

    def _plain(self) -> PlotValue:
        raise OutsideLanguage(
            f"A figure cannot show a value of type {type(self).__name__}.",
            "Pass numbers, text, lists, arrays or tensors.",
        )


class Kept(Recorded):
    """Plain data that is recorded as it is: a list of arrays of the same size stays a list."""

    def __init__(self, value: PlotValue) -> None:
        self._value = value

    def _plain(self) -> PlotValue:
        return self._value


def plain_sets(value: Any) -> PlotValue:
    """The value as plain data; of a list of data sets, each stays an array of its own."""
    if type(value) in (list, tuple) and not set(map(type, value)) <= _NUMBERS:
        sets = [plain(item) for item in value[:MOST_ITEMS]]
        return sets if any(isinstance(item, np.ndarray | list) for item in sets) else plain(value)
    return plain(value)


def plain(value: Any, depth: int = 0) -> PlotValue:
    """The value as plain data. Raises what matplotlib raises for a tensor that requires grad."""
    kind = type(value)
    if value is None or kind in (bool, float):
        return value
    if kind is int:
        return value if abs(value) < 2**63 else float(min(max(value, -(10**300)), 10**300))
    if kind is str:
        return value if len(value) <= MOST_TEXT else value[:MOST_TEXT] + "…"
    if isinstance(value, np.str_):
        return plain(str(value))
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        return _array(value)
    if isinstance(value, Recorded):
        return value._plain()
    if depth == 0 and (kind in _SEQUENCES or kind is dict):
        _check_contents(value)
    if kind in _SEQUENCES:
        return _sequence(list(value), depth)
    if kind is dict and depth < _DEEPEST and len(value) <= 50:
        # the names of arguments: the codec has a meaning for others, such as "$"
        names = (key for key in value if type(key) is str and key.isidentifier())
        return {name: plain(value[name], depth + 1) for name in names if len(name) <= 60}
    raise OutsideLanguage(
        f"A figure cannot show a value of type {kind.__name__[:60]}.",
        "Pass numbers, text, lists, arrays or tensors.",
    )


def _check_contents(value: Any) -> None:
    """Refuse lists that hold too much: one may be an item of another many times."""
    elements, parts, waiting = 0, 0, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, torch.Tensor):
            elements += item.numel()
        elif isinstance(item, np.ndarray):
            elements += item.size
        elif type(item) is range:
            elements += len(item[: MOST_ELEMENTS + 1])  # a long one has no len()
        else:
            items = list(item.values() if type(item) is dict else item)
            kinds = set(map(type, items))
            if kinds <= _NUMBERS:
                elements += len(items)
            else:
                parts += len(items)
            if any(issubclass(kind, _LARGE) for kind in kinds):
                waiting += [part for part in items if isinstance(part, _LARGE)]
        if elements > MOST_ELEMENTS or parts > _MOST_PARTS:
            raise _too_much()


def _too_much() -> OutsideLanguage:
    return OutsideLanguage(
        f"A figure shows at most {MOST_ELEMENTS:,} numbers at once, in lists of few levels.",
        "Plot a part of them.",
    )


def _array(value: Any) -> PlotValue:
    if isinstance(value, torch.Tensor):
        with torch._C.DisableTorchFunction():
            value = torch.Tensor.numpy(torch.Tensor.cpu(value))
    if isinstance(value, np.generic) or value.ndim == 0:
        item = value.item()
        return plain(item.real if isinstance(item, complex) else item)
    if value.dtype.kind == "U":
        return [plain(str(item)) for item in value.ravel()[:MOST_ITEMS]]
    if value.dtype.kind not in "biufc":
        raise OutsideLanguage("A figure shows numbers; this array holds other values.")
    return _owned(value)


def _owned(array: np.ndarray) -> np.ndarray:
    """A copy of numbers that nobody else can change."""
    if array.size > MOST_ELEMENTS:
        raise _too_much()
    if array.dtype.kind == "c":
        array = array.real
    return array.astype(np.float32 if array.dtype.itemsize == 2 else array.dtype, order="C")


def _sequence(items: list[Any], depth: int) -> PlotValue:
    if depth > _DEEPEST:
        raise _too_much()
    if items and set(map(type, items)) <= _NUMBERS:
        try:
            array = np.array(items)
        except OverflowError:
            array = np.array(items, dtype=float)
        return array if array.dtype.kind in "biuf" else np.array(items, dtype=float)
    parts = [plain(item, depth + 1) for item in items[: None if depth == 0 else MOST_ITEMS]]
    if parts and all(isinstance(part, np.ndarray | int | float) for part in parts):
        shapes = {np.shape(part) for part in parts}  # type: ignore[arg-type]
        if len(shapes) == 1:
            return _owned(np.array(parts))
        return parts if len(parts) <= MOST_ITEMS else parts[:MOST_ITEMS]
    if any(part is None for part in parts) and all(
        part is None or isinstance(part, int | float) for part in parts
    ):
        return parts[:MOST_ITEMS]  # limits such as (0, None)
    if len(parts) > MOST_ITEMS:
        notice(f"Figures keep at most {MOST_ITEMS:,} texts of a list.")
    return parts[:MOST_ITEMS]


def numbers(value: Any) -> np.ndarray:
    """The value as an array of floats; empty if it holds anything else."""
    converted = plain(value)
    try:
        return np.asarray(converted, dtype=float)
    except (TypeError, ValueError):
        return np.empty(0)
