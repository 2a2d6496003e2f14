"""How large integers, strings and lists may become."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Any

from explorer.language.errors import ProgramStopped

#: The largest integer, in bits; the longest string or list.
MAX_BITS = 4096
MAX_LENGTH = 1_000_000

#: Python's own collections: iterating over one gives as many items as its length says.
_SIZED = (str, list, tuple, dict, set, frozenset, range, deque)


def check_size(size: float, limit: int, what: str) -> None:
    """Raises ProgramStopped if `size` exceeds `limit`."""
    if size > limit:
        raise ProgramStopped(
            f"This would create {what.format(size)}; the limit is {limit:,}.", "Make it smaller."
        )


def check_text_length(size: float) -> None:
    check_size(size, MAX_LENGTH, "a string of {:,} characters")


def check_list_length(size: float) -> None:
    check_size(size, MAX_LENGTH, "a list of {:,} items")


def bounded(items: Any) -> Any:
    """`items` if their number is known and within the limit; otherwise a list of them.

    Raises ProgramStopped if there are too many.
    """
    if type(items) not in _SIZED:
        items = list(islice(items, MAX_LENGTH + 1))
    elif type(items) is range:  # len() of a long one fails
        check_list_length((items.stop - items.start) // items.step)
    check_list_length(len(items))
    return items
