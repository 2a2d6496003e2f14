"""Asking the sandbox for this reader: saying that they wait, and keeping the traces of programs."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
import streamlit as st
from cachetools import LRUCache
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer import sandbox
from explorer.trace import Trace

#: How many programs' traces are kept for all readers together, and about how many bytes of them.
#: The last one is kept whatever its size.
KEPT, KEPT_BYTES = 64, 256 * 2**20
Answer = TypeVar("Answer")


def ask(
    function: Callable[..., Answer],
    *arguments: Any,
    place: Any,
    spinner: str | None = None,
    **options: Any,
) -> Answer:
    """Call a function of `explorer.sandbox` for this reader.

    `place`, an `st.empty()`, shows the reader's position in the queue, and the `spinner`'s text
    while the job runs; it is empty again afterwards. Raises what the function raises.
    """

    shown = spinner is not None

    def show_position(position: int) -> None:
        nonlocal shown
        shown = True
        place.html(f'<div class="ax-note">Waiting: number {position} in the queue.</div>')

    context = get_script_run_ctx()
    options |= {"on_wait": show_position, "reader": context.session_id if context else None}
    try:
        if spinner is None:
            return function(*arguments, **options)
        with place, st.spinner(spinner):
            return function(*arguments, **options)
    finally:
        if shown:
            place.empty()


def charge(trace: Trace) -> int:
    """The share of `KEPT_BYTES` a trace takes: no trace takes more than all of it, nor so little
    that more than `KEPT` fit."""
    return min(max(size(trace), KEPT_BYTES // KEPT), KEPT_BYTES)


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


#: Traces are immutable, so all readers may share one; `st.cache_data` would unpickle a copy at
#: every rerun and could not say that a reader waits.
_traces: LRUCache[str, Trace] = LRUCache(KEPT_BYTES, getsizeof=charge)
_lock = threading.Lock()


def run(
    source: str, *, capture: str = "hook", upstream: Any = None, afresh: bool = False, seed: int = 0
) -> Trace:
    """What the program did; see `explorer.sandbox.run`. Shows that it runs, or waits.

    `afresh` runs the program even if its trace is kept.
    """
    settings = {"seed": seed, "capture": capture, "upstream": upstream}
    key = repr((source, settings))
    place = st.empty()  # always there, so that what follows keeps its place on the page
    with _lock:
        trace = None if afresh else _traces.get(key)
    if trace is not None:
        return trace
    trace = ask(
        sandbox.run,
        source,
        timeout=sandbox.options().seconds,
        place=place,
        spinner="Running the program",
        **settings,
    )
    with _lock:
        if _decided_by_program(trace):
            _traces[key] = trace
        else:
            _traces.pop(key, None)
    return trace


def _decided_by_program(trace: Trace) -> bool:
    """Whether the program alone decided the outcome, and not how busy the machine was."""
    return trace.error is None or trace.error.line is not None
