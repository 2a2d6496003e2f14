"""Running the reader's program in the sandbox, once per program and setting."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer import sandbox
from explorer.trace import Trace

#: How many programs' traces are kept for all readers together, and about how many bytes of them;
#: the last one is kept whatever its size.
KEPT, KEPT_BYTES = 64, 256 * 2**20


class Recent:
    """The traces used last. They are immutable, so all readers may share one; `st.cache_data`
    would unpickle a copy at every rerun and could not say that a reader waits."""

    def __init__(self, kept: int = KEPT, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept, self._kept_bytes = kept, kept_bytes
        self._traces: OrderedDict[str, Trace] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> Trace | None:
        with self._lock:
            if key in self._traces:
                self._traces.move_to_end(key)
            return self._traces.get(key)

    def put(self, key: str, trace: Trace) -> None:
        taken = size(trace)
        with self._lock:
            self._traces[key], self._sizes[key] = trace, taken
            self._traces.move_to_end(key)
            while len(self._traces) > 1 and self._is_full():
                del self._sizes[self._traces.popitem(last=False)[0]]

    def forget(self, key: str) -> None:
        with self._lock:
            if self._traces.pop(key, None) is not None:
                del self._sizes[key]

    def _is_full(self) -> bool:
        return len(self._traces) > self._kept or sum(self._sizes.values()) > self._kept_bytes


def size(value: Any) -> int:
    """About how many bytes plain data takes, its parts included."""
    if isinstance(value, np.ndarray):
        return 200 + value.nbytes
    taken = sys.getsizeof(value)
    if dataclasses.is_dataclass(value):
        parts: Iterable[Any] = vars(value).values()
        taken += sys.getsizeof(vars(value))
    elif isinstance(value, dict):
        parts = (*value, *value.values())
    elif isinstance(value, list | tuple):
        parts = value
    else:
        return taken
    return taken + sum(map(size, parts))


_recent = Recent()


def run(
    source: str, *, capture: str = "hook", upstream: Any = None, afresh: bool = False, seed: int = 0
) -> Trace:
    """What the program did; see `explorer.sandbox.run`. Says so while it runs or waits.

    `afresh` runs the program even if its trace is at hand.
    """
    settings = {"seed": seed, "capture": capture, "upstream": upstream}
    key = repr((source, settings))
    place = st.empty()  # always there, so that what follows keeps its place on the page
    found = None if afresh else _recent.get(key)
    if found is None:
        found = _really(source, settings, place)
        if _own_doing(found):
            _recent.put(key, found)
        else:
            _recent.forget(key)
    return found


def _really(source: str, settings: dict[str, Any], place: Any) -> Trace:
    def waiting(position: int) -> None:
        place.html(f'<div class="ax-note">Waiting: number {position} in the line.</div>')

    context = get_script_run_ctx()
    reader = context.session_id if context else None
    with place, st.spinner("Running the program"):
        seconds = sandbox.options().seconds
        trace = sandbox.run(source, timeout=seconds, on_wait=waiting, reader=reader, **settings)
    place.empty()
    return trace


def _own_doing(trace: Trace) -> bool:
    """Whether the program alone decided the outcome, and not how busy the machine was."""
    return trace.error is None or trace.error.line is not None
