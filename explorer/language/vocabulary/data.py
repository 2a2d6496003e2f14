"""Nested lists on their way to torch's C++ code.

That code keeps a pointer into a list while it reads it. An object of the program's own inside
the list can run code at that moment and change the list, and freed memory is read: so a list
given to torch holds numbers, tensors and lists of them, nothing else.
"""

from __future__ import annotations

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
    waiting = [data]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list | tuple):
            waiting.extend(item)
        elif not isinstance(item, _NUMBERS):
            raise OutsideLanguage(
                f"A tensor is made of numbers; this list holds a {type(item).__name__}.",
                "Take the numbers out of it first.",
            )
    return data
