"""Results that all readers share. A cache is limited in bytes, and what nobody has used for a while
is dropped (`drop_unused`, called by `memory.py`): so the memory of a crowd returns. What is worked
out of a trace is kept for as long as the trace itself (`derived`)."""

from __future__ import annotations

import dataclasses
import functools
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, ParamSpec, Protocol, TypeVar
from weakref import WeakSet, WeakValueDictionary

import numpy as np
from torch import Tensor, nn

from explorer import limits
from explorer.trace import Trace

#: The least an entry is charged with: its key and its place take memory, too.
_LEAST = 1000

P = ParamSpec("P")
V = TypeVar("V")

_all: WeakSet[SharedCache[Any]] = WeakSet()


def size(value: Any) -> int:
    """About how many bytes a result takes: plain data with its parts, each of them once, or a
    model's tensors."""
    taken, waiting, counted = 0, [value], set[int]()
    while waiting:
        value = waiting.pop()
        parts = _parts(value)
        if parts and id(value) in counted:
            continue
        counted.add(id(value))
        taken += 200 + value.nbytes if isinstance(value, _ARRAYS) else sys.getsizeof(value)
        kinds = set(map(type, parts))
        if kinds <= _NUMBERS:
            taken += 28 * len(parts)
        elif kinds == {tuple} and len(parts) > _MANY:  # a table: all of its rows are alike
            some = parts[:: -(-len(parts) // _MANY)]
            taken += size(some) * len(parts) // len(some)
        else:
            waiting.extend(parts)
    return taken


_ARRAYS = (np.ndarray, Tensor)
#: Of more tuples than this in a row, only some are measured.
_MANY = 16
_NUMBERS = {int, float, bool, type(None)}


def _parts(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, dict):
        return (*value, *value.values())
    if dataclasses.is_dataclass(value):
        return tuple(vars(value).values())
    return (*value.parameters(), *value.buffers()) if isinstance(value, nn.Module) else ()


class SharedCache(Generic[V]):
    """Results by key, as many as fit into `limit` bytes; the last one is kept whatever its size.
    Safe to use from any number of threads."""

    def __init__(self, limit: int, measure: Callable[[V], int] = size) -> None:
        self.limit, self.bytes = limit, 0
        self._measure = measure
        #: Value, bytes and when it was used last, by key; the one used last comes last.
        self._entries: OrderedDict[Hashable, tuple[V, int, float]] = OrderedDict()
        self._makers: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()
        self._lock = threading.Lock()
        _all.add(self)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Hashable) -> bool:
        """Whether it is kept. Does not count as a use."""
        return key in self._entries

    def get(self, key: Hashable) -> V | None:
        with self._lock:
            return self._use(key)

    def put(self, key: Hashable, value: V) -> None:
        taken = max(self._measure(value), _LEAST)
        with self._lock:
            self._drop(key)
            while self._entries and self.bytes + taken > self.limit:
                self._drop(next(iter(self._entries)))
            self._entries[key] = value, taken, time.monotonic()
            self.bytes += taken

    def get_or_make(self, key: Hashable, make: Callable[[], V]) -> V:
        """The result, which is made if it is not kept. Of those who ask for it at the same time one
        makes it, and the others wait. What `make` raises is not kept."""
        with self._lock:
            maker = self._makers.setdefault(key, threading.Lock())
        with maker:
            with self._lock:
                if key in self._entries:
                    return self._use(key)  # type: ignore[return-value]  # it is there
            value = make()
            self.put(key, value)
            return value

    def drop(self, key: Hashable) -> None:
        with self._lock:
            self._drop(key)

    def drop_unused(self, seconds: float = limits.UNUSED_SECONDS) -> None:
        """Drop what nobody has used for so long."""
        until = time.monotonic() - seconds
        with self._lock:
            while self._entries:
                key, (_, _, used) = next(iter(self._entries.items()))
                if used >= until:
                    break
                self._drop(key)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self.bytes = 0

    def _use(self, key: Hashable) -> V | None:
        if key not in self._entries:
            return None
        value, taken, _ = self._entries[key]
        self._entries[key] = value, taken, time.monotonic()
        self._entries.move_to_end(key)
        return value

    def _drop(self, key: Hashable) -> None:
        if key in self._entries:
            self.bytes -= self._entries.pop(key)[1]


class Shared(Generic[P, V]):
    """A function whose results are kept; see `shared`."""

    def __init__(
        self, function: Callable[P, V], limit: int, key: Callable[..., Hashable] | None
    ) -> None:
        functools.update_wrapper(self, function)
        self.cache: SharedCache[V] = SharedCache(limit)
        self._function, self._key = function, key

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> V:
        key = self._key(*args, **kwargs) if self._key else (args, *sorted(kwargs.items()))
        return self.cache.get_or_make(key, lambda: self._function(*args, **kwargs))


class _Decorator(Protocol):
    def __call__(self, function: Callable[P, V], /) -> Shared[P, V]: ...


def shared(limit: int, key: Callable[..., Hashable] | None = None) -> _Decorator:
    """Keep what a function returns, within `limit` bytes, for all readers. `key` makes the key of
    the arguments; without it they are the key themselves."""

    def decorate(function: Callable[P, V], /) -> Shared[P, V]:
        return Shared(function, limit, key)

    return decorate


def drop_unused(seconds: float = limits.UNUSED_SECONDS) -> None:
    """Drop what nobody has used for so long, in all caches."""
    for cache in list(_all):
        cache.drop_unused(seconds)


#: By the id of a trace that is alive.
_derived: dict[int, dict[Hashable, Any]] = {}


def derived(trace: Trace, key: Hashable, make: Callable[[], V]) -> V:
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
    value: V = kept[key]
    return value
