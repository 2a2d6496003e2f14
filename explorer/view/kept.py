"""What is worked out of a backward pass as a whole, once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from explorer.trace import BackwardPass

T = TypeVar("T")


def kept_with_pass(work: Callable[[BackwardPass], T]) -> Callable[[BackwardPass], T]:
    """The function, whose result is kept with the pass: each of a thousand steps asks for it."""
    name = f"{work.__module__}.{work.__qualname__}"

    @wraps(work)
    def kept(shown: BackwardPass) -> T:
        known = vars(shown)  # beside the fields, as functools.cached_property does
        if name not in known:
            known[name] = work(shown)
        result: T = known[name]
        return result

    return kept
