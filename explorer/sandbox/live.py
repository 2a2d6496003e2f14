"""One child that stays with a reader's program during a drag: values in, a Trace out.

An ordinary run takes a new child; most of its time goes into the memory pages that a fork copies.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from explorer.language import ProgramRefused
from explorer.sandbox import client, exit_reasons
from explorer.sandbox.client import Call
from explorer.sandbox.task import SOFT_LIMIT
from explorer.trace import Trace
from explorer.trace.running import validate_arguments

#: The time limit of one request in seconds, and how much longer it may take to arrive.
LIMIT, EXTRA = 1.0, 0.5

Submit = Callable[..., Call[Any]]


class LiveRun:
    """Runs one program after the other in one child, which the first starts and 2 s without a
    request end. Safe to use from several threads, one after the other.

    If the child has ended while it rested, the next request starts another. If too many readers
    drag at once, each request has a child of its own, as an ordinary run.
    """

    def __init__(self, submit: Submit, reader: str | None = None, limit: float = LIMIT) -> None:
        self._submit, self._reader, self._limit = submit, reader, limit
        self._lock = threading.Lock()
        self._call: Call[Any] | None = None
        self._is_closed = False

    @property
    def alive(self) -> bool:
        """Whether there was a child after the last request, which may rest still."""
        call = self._call
        return call is not None and call.connected

    def run(
        self,
        source: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        capture: str = "hook",
        upstream: Any = None,
        iteration: int | None = None,
        seed: int = 0,
    ) -> Trace:
        """What the program did; see `explorer.run`. Waits for about a second at most.

        Raises ProgramRefused, with an error for the reader, if the program was too slow or ended
        its child; the next call starts another. Raises ValueError where `explorer.run` does.
        """
        settings = validate_arguments(seed, capture, upstream, iteration, inputs)
        with self._lock:
            if self._is_closed:
                raise ProgramRefused(exit_reasons.stopped_in_queue())
            try:
                return self._run(source, {"source": source, **settings})
            except ProgramRefused:
                self._end_child()
                raise
            finally:
                if self._is_closed:  # meanwhile, by another thread
                    self._end_child()

    def close(self) -> None:
        """End the child. A request under way in another thread ends it when it is done."""
        self._is_closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._end_child()
            finally:
                self._lock.release()

    def _run(self, source: str, request: dict[str, Any]) -> Trace:
        if self._call is None:
            options: dict[str, Any] = {"timeout": self._limit, "reader": self._reader, "live": True}
            self._call = self._submit("run", request, **options)
        else:
            self._call.again(request)
        call, trace = self._call, None
        error = exit_reasons.queue_full()
        if call.wait(self._limit + EXTRA):
            try:
                trace = client.read_trace(source, call.result)
            except ProgramRefused as refused:
                error = refused.error
        soon = SOFT_LIMIT * self._limit
        is_late = call.started is not None and time.monotonic() > call.started + soon
        if trace is not None and (trace.error is None or not is_late):
            return trace
        raise ProgramRefused(exit_reasons.too_slow_to_follow(self._limit) if is_late else error)

    def _end_child(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call.cancel()


def submit_live(reader: str | None = None) -> LiveRun:
    """A live run in the app's sandbox. The first request starts the child."""
    return LiveRun(client.submit, reader)
