"""Lists on their way to the C++ and C code of torch and numpy, and arrays on their way back.

That code keeps a pointer into a list or an array while it reads it. An object of the program's
own inside can run code at that moment and change what is being read, and freed memory is read:
so what is given to torch holds numbers, tensors and lists of them, and arrays hold numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from explorer.language.errors import OutsideLanguage

_NUMBERS = (
    bool, int, float, complex, str, range, slice, type(None), type(...),
    torch.Tensor, torch.dtype, np.ndarray, np.generic,
)  # fmt: skip


def numbers_only(data: Any) -> Any:
    """Return `data`. Raises OutsideLanguage if it holds anything but numbers and sequences."""
    strange = stranger(data)
    if strange is not None:
        raise OutsideLanguage(
            f"A tensor is made of numbers; this list holds a {type(strange).__name__[:60]}.",
            "Take the numbers out of it first.",
        )
    return data


def stranger(data: Any, *kinds: type) -> Any:
    """The first thing in `data` that is no number, tensor or sequence of them; None if all are.

    Dictionaries of exactly these `kinds` are looked into as well, their keys too: one of a
    program's own can run code when it is looked up.
    """
    waiting, seen = [data], set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, list | tuple) or type(item) in kinds:
            if id(item) not in seen:  # a list may hold itself
                seen.add(id(item))
                waiting.extend(item)
                waiting.extend(item.values() if isinstance(item, dict) else ())
        elif not isinstance(item, _NUMBERS) or holds_objects(item):
            return item
    return None


def holds_objects(array: Any) -> bool:
    """Whether this is a numpy array of Python objects."""
    return isinstance(array, np.ndarray) and array.dtype.hasobject


#: Most bytes one item of an array may take; numbers take up to 16, texts 4 per character.
MAX_ITEM = 4096


def of_numbers(function: Callable[..., Any], fills: bool = True) -> Callable[..., Any]:
    """A function of numpy that refuses to make arrays of Python objects, of their texts (which
    hold addresses), of endless ones, and of memory that it does not fill."""

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, str | np.dtype):
                _check_size(value)
            elif isinstance(value, np.ndarray) and value.dtype.kind == "U":
                numbers_only([*args, *kwargs.values()])  # it may be what the result is put into
        if not fills and kwargs.get("where", True) is not True:
            _check_where(args, kwargs)
        made = function(*args, **kwargs)
        for part in made if isinstance(made, tuple | list) else (made,):
            _check_items(part, args, kwargs)
        return made

    return make


def _check_size(name: Any) -> None:
    """Refuse a type of items that are endless."""
    try:
        size = np.dtype(name).itemsize
    except (TypeError, ValueError):
        return  # a word, not a type
    if size > MAX_ITEM:
        raise OutsideLanguage(
            f"Each element would take {size:,} bytes; the limit is {MAX_ITEM:,}.",
            "Use a shorter text type.",
        )


def _check_items(array: Any, args: Any, kwargs: Any) -> None:
    """Refuse what is no array of numbers or texts, and texts of anything else: they would hold
    addresses. Records and long doubles have bytes between their numbers that nobody fills; items
    of a bytes array are bytes, which are not part of the language."""
    kind = array.dtype.kind if isinstance(array, np.ndarray | np.generic) else ""
    if kind and (kind in "OVS" or array.dtype.char in "gG"):
        raise OutsideLanguage(
            "This type of array is not supported.", "Use numbers, or a list for other values."
        )
    if kind == "U":
        numbers_only([*args, *kwargs.values()])


def _check_where(args: Any, kwargs: Any) -> None:
    out = kwargs.get("out")
    if out is None or (isinstance(out, tuple) and None in out):
        raise OutsideLanguage(
            "where= leaves the other elements uninitialized.",
            "Pass out= as well, or use np.where.",
        )
