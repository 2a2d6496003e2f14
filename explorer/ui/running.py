"""Running the reader's program in the sandbox, once per program and setting."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer import sandbox
from explorer.trace import Trace

#: How many programs' traces are kept for all readers together.
KEPT = 64


class Recent:
    """The traces used last. They are immutable, so all readers may share one; `st.cache_data`
    would unpickle a copy at every rerun and could not say that a reader waits."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._traces: OrderedDict[str, Trace] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Trace | None:
        with self._lock:
            if key in self._traces:
                self._traces.move_to_end(key)
            return self._traces.get(key)

    def put(self, key: str, trace: Trace) -> None:
        with self._lock:
            self._traces[key] = trace
            self._traces.move_to_end(key)
            while len(self._traces) > self._kept:
                self._traces.popitem(last=False)

    def forget(self, key: str) -> None:
        with self._lock:
            self._traces.pop(key, None)


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
        trace = sandbox.run(source, on_wait=waiting, reader=reader, **settings)
    place.empty()
    return trace


def _own_doing(trace: Trace) -> bool:
    """Whether the program alone decided the outcome, and not how busy the machine was."""
    return trace.error is None or trace.error.line is not None
