"""What is worked out of a run, kept for as long as the run itself."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from explorer.trace import Trace

T = TypeVar("T")

#: By the id of a trace that is alive.
_derived: dict[int, dict[Hashable, Any]] = {}


def derived(trace: Trace, key: Hashable, make: Callable[[], T]) -> T:
    """What `make` returns, which depends on the trace and `key` alone and is not changed.

    Traces do not change, and all readers of a program share one. A trace has no hash, so it cannot
    be the key of an ordinary cache.
    """
    name = id(trace)
    if name not in _derived:
        _derived.setdefault(name, {})
        weakref.finalize(trace, _derived.pop, name, None).atexit = False
    kept = _derived[name]
    if key not in kept:
        kept[key] = make()
    value: T = kept[key]
    return value
