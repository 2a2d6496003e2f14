"""One child that stays with a reader's program during a drag: values in, a Trace or a path out.

An ordinary run takes a new child; most of its time goes into the memory pages that a fork copies.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from explorer.language import ProgramRefused
from explorer.sandbox import exit_reasons
from explorer.sandbox.calls import Call
from explorer.sandbox.client import submit
from explorer.sandbox.programs import read_trace
from explorer.sandbox.task import SOFT_LIMIT
from explorer.trace import Trace
from explorer.trace.running import validate_arguments

#: The time limit of one request in seconds, and how much longer it may take to arrive.
LIMIT, EXTRA = 1.0, 0.5

#: The jobs that leave the process as they found it, so that one child can do them again and again.
JOBS = frozenset({"run", "look_ahead"})

Submit = Callable[..., Call[Any]]


class LiveRun:
    """Does one job after the other in one child, which the first starts and 2 s without a request
    end; a request for another job takes another child. Safe to use from several threads, one after
    the other.

    If the child has ended while it rested, the next request starts another. If too many readers
    drag at once, each request has a child of its own, as an ordinary run.
    """

    def __init__(self, submit: Submit, reader: str | None = None, limit: float = LIMIT) -> None:
        self._submit, self._reader, self._limit = submit, reader, limit
        self._lock = threading.Lock()
        self._call: Call[Any] | None = None
        self._job = ""
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
        request, read = {"source": source, **settings}, partial(read_trace, source)
        trace: Trace = self._perform("run", request, read, _is_stopped)
        return trace

    def call(self, job: str, request: Any) -> Any:
        """The plain answer of a job of `JOBS`; waits for about a second at most.

        Raises ProgramRefused, as `run` does; an answer that comes too late is none.
        """
        if job not in JOBS:
            raise ValueError(f"{job} does not leave a child as it was")
        return self._perform(job, request, lambda get: get(), lambda answer, is_late: is_late)

    def close(self) -> None:
        """End the child. A request under way in another thread ends it when it is done."""
        self._is_closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._end_child()
            finally:
                self._lock.release()

    def _perform(
        self,
        job: str,
        request: Any,
        read: Callable[[Callable[[], Any]], Any],
        is_stopped: Callable[[Any, bool], bool],
    ) -> Any:
        with self._lock:
            if self._is_closed:
                raise ProgramRefused(exit_reasons.stopped_in_queue())
            try:
                return self._ask(job, request, read, is_stopped)
            except ProgramRefused:
                self._end_child()
                raise
            finally:
                if self._is_closed:  # meanwhile, by another thread
                    self._end_child()

    def _ask(
        self,
        job: str,
        request: Any,
        read: Callable[[Callable[[], Any]], Any],
        is_stopped: Callable[[Any, bool], bool],
    ) -> Any:
        if job != self._job:
            self._end_child()
        if self._call is None:
            options: dict[str, Any] = {"timeout": self._limit, "reader": self._reader, "live": True}
            self._job, self._call = job, self._submit(job, request, **options)
        else:
            self._call.again(request)
        call, answer = self._call, None
        error = exit_reasons.queue_full()
        if call.wait(self._limit + EXTRA):
            try:
                answer = read(call.result)
            except ProgramRefused as refused:
                error = refused.error
        soon = SOFT_LIMIT * self._limit
        is_late = call.started is not None and time.monotonic() > call.started + soon
        if answer is not None:
            if not is_stopped(answer, is_late):
                return answer
            is_late = True
        raise ProgramRefused(exit_reasons.too_slow_to_follow(self._limit) if is_late else error)

    def _end_child(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call.cancel()


def _is_stopped(trace: Trace, is_late: bool) -> bool:
    """Whether a run was ended by its limit, which the child's clock may say a moment before it is
    known here."""
    error = trace.error
    return error is not None and (is_late or exit_reasons.is_out_of_time(error))


def submit_live(reader: str | None = None) -> LiveRun:
    """A live run in the app's sandbox. The first request starts the child."""
    return LiveRun(submit, reader)
