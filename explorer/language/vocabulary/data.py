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


def of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numpy that refuses to make arrays of Python objects."""

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        for part in made if isinstance(made, tuple | list) else (made,):
            if holds_objects(part):
                raise OutsideLanguage(
                    "An array holds numbers here.", "Keep other things in a list."
                )
        return made

    return make
