"""Checks of the data that a program passes to torch and numpy.

Their C and C++ code keeps a pointer into a list or an array while reading it. An object of the
program's own in that list could run code at that moment and change the list, so that freed memory
is read. So torch gets only numbers, tensors and sequences of them, and arrays contain only numbers
and strings.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from explorer.language.errors import OutsideLanguage
from explorer.language.missing import MissingImport
from explorer.language.vocabulary.class_proxy import ClassProxy

_NUMBERS = (
    bool, int, float, complex, str, range, slice, type(None), type(...),
    torch.Tensor, torch.dtype, np.ndarray, np.generic,
)  # fmt: skip


def require_numbers(data: Any) -> Any:
    """Return `data`. Raises OutsideLanguage if it contains anything but numbers and sequences."""
    other = find_non_number(data)
    if type(other) is MissingImport:
        raise other.error()
    if other is not None:
        raise OutsideLanguage(
            f"A tensor can hold only numbers; this list contains a {type(other).__name__[:60]}.",
            "Convert it to numbers first.",
        )
    return data


def find_non_number(data: Any, *kinds: type) -> Any:
    """An object in `data` that is not a number, tensor or sequence of them; None if there is none.

    Dictionaries of exactly these `kinds` may be nested too. Their keys are checked as well: a key
    of the program's own class can run code when it is looked up.
    """
    waiting, visited = [data], set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, list | tuple) or type(item) in kinds:
            if id(item) not in visited:  # a list may contain itself
                visited.add(id(item))
                waiting.extend(item)
                waiting.extend(item.values() if isinstance(item, dict) else ())
        elif not isinstance(item, _NUMBERS) or holds_objects(item):
            return item
    return None


def is_plain(value: Any) -> bool:
    """Whether this is a number, a string, None, or a list or tuple of them."""
    if type(value) in (list, tuple):
        return all(map(is_plain, value))
    return type(value) in (bool, int, float, str, type(None))


def holds_objects(array: Any) -> bool:
    """Whether this is a numpy array of Python objects."""
    return isinstance(array, np.ndarray) and array.dtype.hasobject


#: The maximum size of an array's item in bytes; numbers take up to 16, strings 4 per character.
MAX_ITEM_BYTES = 4096


def check_arrays(function: Callable[..., Any], fills: bool = True) -> Callable[..., Any]:
    """Wrap a function of numpy so that it cannot return arrays of Python objects, of their strings
    (which contain addresses), of huge items, or of uninitialised memory."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        args = tuple(map(_as_dtype, args))
        kwargs = {name: _as_dtype(value) for name, value in kwargs.items()}
        for value in (*args, *kwargs.values()):
            if isinstance(value, str | np.dtype):
                _check_item_size(value)
            elif isinstance(value, np.ndarray) and value.dtype.kind == "U":
                require_numbers([*args, *kwargs.values()])  # it may be the array for the result
        if not fills and kwargs.get("where", True) is not True:
            _check_where(args, kwargs)
        result = function(*args, **kwargs)
        for part in result if isinstance(result, tuple | list) else (result,):
            _check_items(part, args, kwargs)
        return result

    return call


def _as_dtype(value: Any) -> Any:
    """`str` as numpy spells it: a program has a proxy of that class."""
    return "U" if isinstance(value, ClassProxy) and value.wrapped is str else value


def _check_item_size(name: Any) -> None:
    """Refuse a dtype whose items are too large."""
    try:
        size = np.dtype(name).itemsize
    except (TypeError, ValueError):
        return  # a string argument that is not a dtype
    if size > MAX_ITEM_BYTES:
        raise OutsideLanguage(
            f"Each element would take {size:,} bytes; the limit is {MAX_ITEM_BYTES:,}.",
            "Use a shorter string type.",
        )


def _check_items(array: Any, args: Any, kwargs: Any) -> None:
    """Refuse arrays of anything but numbers and strings, and strings made from other objects, which
    would contain addresses. Records and long doubles have uninitialised padding bytes; the items of
    a bytes array are bytes, which the language does not have."""
    kind = array.dtype.kind if isinstance(array, np.ndarray | np.generic) else ""
    if kind and (kind in "OVS" or array.dtype.char in "gG"):
        raise OutsideLanguage(
            "This type of array is not supported here.", "Use numbers, or a list for other values."
        )
    if kind == "U":
        require_numbers([*args, *kwargs.values()])


def _check_where(args: Any, kwargs: Any) -> None:
    out = kwargs.get("out")
    if out is None or (isinstance(out, tuple) and None in out):
        raise OutsideLanguage(
            "where= leaves the other elements uninitialised.",
            "Pass out= as well, or use np.where.",
        )
