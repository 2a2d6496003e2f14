"""How large whole numbers, texts and lists may become."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

from explorer.language.errors import ProgramStopped

#: Largest whole number, in bits; longest string or list.
MAX_BITS = 4096
MAX_LENGTH = 1_000_000

#: Collections of Python's whose length is what they give when they are gone through.
_SIZED = (str, list, tuple, dict, set, frozenset, range, deque)


def limit(size: float, most: int, what: str) -> None:
    """Raises ProgramStopped if `size` is more than `most`."""
    if size > most:
        raise ProgramStopped(
            f"{what.format(size)} would be made; the limit is {most:,}.", "Make it smaller."
        )


def limit_text(size: float) -> None:
    limit(size, MAX_LENGTH, "A string of {:,} characters")


def limit_list(size: float) -> None:
    limit(size, MAX_LENGTH, "A list of {:,} items")


def bounded(items: Any) -> Any:
    """What may be put into a list: `items` themselves, or a list of them where nobody knows
    beforehand how many they are."""
    if type(items) not in _SIZED:
        items = list(islice(items, MAX_LENGTH + 1))
    elif type(items) is range:  # len() of a long one fails
        limit_list((items.stop - items.start) // items.step)
    limit_list(len(items))
    return items


# -- methods whose result may be far larger than what they are given -----------------------------


def _padded(text: str, name: str) -> Callable[..., str]:
    def pad(width: int, *fill: str) -> str:
        limit_text(width)
        return str(getattr(text, name)(width, *fill))

    return pad


def _replace(text: str, name: str) -> Callable[..., str]:
    def replace(old: str, new: str, count: int = -1) -> str:
        times = text.count(old) if count < 0 else min(text.count(old), count)
        limit_text(len(text) + times * (len(new) - len(old)))
        return text.replace(old, new, count)

    return replace


def _join(text: str, name: str) -> Callable[..., str]:
    def join(parts: Any) -> str:
        parts = bounded(parts)
        limit_text(sum(len(p) + len(text) for p in parts if isinstance(p, str)))
        return text.join(parts)

    return join


def _extended(items: Any, name: str) -> Callable[..., None]:
    def extend(more: Any) -> None:
        more = bounded(more)
        limit_list(len(items) + len(more))
        getattr(items, name)(more)

    return extend


#: (class, method) -> how it is read.
METHODS: dict[tuple[type, str], Callable[[Any, str], Any]] = {
    **{(str, name): _padded for name in ("center", "ljust", "rjust", "zfill")},
    (str, "replace"): _replace,
    (str, "join"): _join,
    (list, "extend"): _extended,
    (deque, "extend"): _extended,
    (deque, "extendleft"): _extended,
}
