"""Operators whose result may be far larger than their operands."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from typing import Any

import torch

from explorer.language.errors import ProgramStopped
from explorer.language.guard import formatting
from explorer.language.guard.items import Slot

#: Largest whole number, in bits; longest string or list.
MAX_BITS = 4096
MAX_LENGTH = 1_000_000

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "*": operator.mul,
    "**": operator.pow,
    "<<": operator.lshift,
    "%": operator.mod,
    "+": operator.add,
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
    """`left symbol right`. Raises ProgramStopped if the result would be too large."""
    if type(left) is not float and not isinstance(left, torch.Tensor):
        check_growth(symbol, left, right)
    made = _OPERATIONS[symbol](left, right)
    return formatting.without_addresses(made) if symbol == "%" and isinstance(made, str) else made


def augment(symbol: str, left: Any, right: Any) -> Any:
    """`left symbol= right`: in place where the type does so."""
    if type(left) is not float and not isinstance(left, torch.Tensor):
        check_growth(symbol, left, right)
    if symbol == "%" and isinstance(left, str):
        return operate(symbol, left, right)
    return _AUGMENTED[symbol](left, right)


def augment_item(symbol: str, slot: Slot, value: Any) -> None:
    slot.holder[slot.key] = augment(symbol, slot.value, value)


def check_growth(symbol: str, left: Any, right: Any) -> None:
    if isinstance(left, int):
        if isinstance(right, int):
            limit(_bits(symbol, int(left), int(right)), MAX_BITS, "A whole number of {:,} bits")
        elif symbol == "*" and isinstance(right, _SIZED):
            limit(left * len(right), MAX_LENGTH, "A string or list of {:,} items")
    elif isinstance(left, _SIZED):
        if symbol == "*" and isinstance(right, int):
            limit(len(left) * right, MAX_LENGTH, "A string or list of {:,} items")
        elif symbol == "+" and isinstance(right, _SIZED):
            limit(len(left) + len(right), MAX_LENGTH, "A string or list of {:,} items")
        elif symbol == "%" and isinstance(left, str):
            formatting.check_template(left, right)


_SIZED = (str, list, tuple, deque)


def limit(size: int, most: int, what: str) -> None:
    if size > most:
        raise ProgramStopped(
            f"{what.format(size)} would be made; the limit is {most:,}.", "Use a smaller one."
        )


def _bits(symbol: str, left: int, right: int) -> int:
    """At least how many bits the result of whole numbers has."""
    a, b = left.bit_length(), right.bit_length()
    if symbol == "**":
        return (a - 1) * right if right > 0 else 1
    if symbol == "<<":
        return a + right if right > 0 and left else 1
    return a + b - 1 if symbol == "*" else max(a, b)
