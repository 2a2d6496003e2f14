"""Operators whose result may be far larger than their operands."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from explorer.language.errors import OutsideLanguage
from explorer.language.guard import formatting
from explorer.language.guard.items import AugmentedItem
from explorer.language.guard.limits import (
    MAX_BITS,
    MAX_LENGTH,
    bounded,
    check_list_length,
    check_size,
)
from explorer.language.vocabulary.data_checks import require_numbers

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "*": operator.mul,
    "**": operator.pow,
    "<<": operator.lshift,
    "%": operator.mod,
    "+": operator.add,
    "@": operator.matmul,
}
_AUGMENTED: dict[str, Callable[[Any, Any], Any]] = {
    "*": operator.imul,
    "**": operator.ipow,
    "<<": operator.ilshift,
    "%": operator.imod,
    "+": operator.iadd,
    "-": operator.isub,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "@": operator.imatmul,
    ">>": operator.irshift,
    "|": operator.ior,
    "^": operator.ixor,
    "&": operator.iand,
}


def operate(symbol: str, left: Any, right: Any) -> Any:
    """The value of `left symbol right`. Raises ProgramStopped if it would be too large."""
    if symbol == "%" and isinstance(left, str):
        return formatting.format_percent(left, right)
    if type(left) not in _NEVER_GROWING or type(right) in _SIZED:
        check_growth(symbol, left, right)
    return _OPERATIONS[symbol](left, right)


def augment(symbol: str, left: Any, right: Any) -> Any:
    """The value of `left symbol= right`; in place if the type does that."""
    if symbol == "%" and isinstance(left, str):
        return operate(symbol, left, right)
    if type(left) not in _NEVER_GROWING or type(right) in _SIZED:
        check_growth(symbol, left, right)
    if symbol == "+" and isinstance(left, list | deque) and not hasattr(right, "__radd__"):
        right = bounded(right)  # an object with __radd__, such as an array, is added instead
        check_list_length(len(left) + len(right))
    return _AUGMENTED[symbol](left, right)


def augment_item(symbol: str, item: AugmentedItem, value: Any) -> None:
    """Perform `holder[key] symbol= value`."""
    item.holder[item.key] = augment(symbol, item.value, value)


def check_growth(symbol: str, left: Any, right: Any) -> None:
    """Raises ProgramStopped if the result would be too large an integer, string or list.

    Raises OutsideLanguage for an array of anything but numbers: numpy would apply the operator to
    each pair of objects.
    """
    is_text = symbol == "%" and isinstance(left, str)  # a template, not arithmetic
    if not is_text and (isinstance(left, _ARRAYS) or isinstance(right, _ARRAYS)):
        _require_plain_arrays(left, right)
    if isinstance(left, int) and isinstance(right, int):
        check_size(_bits(symbol, int(left), int(right)), MAX_BITS, "an integer of {:,} bits")
    elif symbol == "+" and isinstance(left, _SIZED) and isinstance(right, _SIZED):
        check_size(len(left) + len(right), MAX_LENGTH, "a string or list of {:,} items")
    elif symbol == "*":
        for items, times in ((left, right), (right, left)):
            if isinstance(items, _SIZED) and (count := _whole(times)) is not None:
                check_size(len(items) * count, MAX_LENGTH, "a string or list of {:,} items")


def _whole(value: Any) -> int | None:
    """The whole number that Python takes this value for when it repeats a sequence."""
    if isinstance(value, int | np.integer) or _is_whole_tensor(value):
        return int(value)
    return None


def _is_whole_tensor(value: Any) -> bool:
    is_one = isinstance(value, torch.Tensor) and value.numel() == 1
    return is_one and not value.is_floating_point() and not value.is_complex()


def _require_plain_arrays(*operands: Any) -> None:
    """Refuse operands from which numpy would make an array of objects or strings."""
    require_numbers(operands)
    kinds = list | tuple | str | np.ndarray | np.generic
    if any(isinstance(o, kinds) and np.asarray(o).dtype.kind not in "biufc" for o in operands):
        raise OutsideLanguage(
            "An array can be combined only with numbers of at most 64 bits.",
            "Convert it to numbers first.",
        )


_SIZED = (str, list, tuple, deque)
_ARRAYS = (np.ndarray, np.generic)
#: What these and a number give is not larger than they are; with a list, it may be a longer list.
_NEVER_GROWING = frozenset([float, torch.Tensor, torch.nn.Parameter])


def _bits(symbol: str, left: int, right: int) -> int:
    """A lower bound for the number of bits of the integer result."""
    a, b = left.bit_length(), right.bit_length()
    if symbol == "**":
        return (a - 1) * right if right > 0 else 1
    if symbol == "<<":
        return a + right if right > 0 and left else 1
    return a + b - 1 if symbol == "*" else max(a, b)
