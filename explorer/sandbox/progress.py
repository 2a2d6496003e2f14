"""What a job may use of its child, and how it reports how far it is."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

from explorer import limits
from explorer.program import ProgramStopped, Watcher
from explorer.trace import to_plain

_LOG = logging.getLogger(__name__)

#: Seconds between two reports.
INTERVAL = 0.1
#: Seconds until the first part of a Trace is sent. The program has then run so many times as long
#: as sending the next one will take, judged by the last, and this share longer than at that.
FIRST_PART, COST, SHARE = 0.05, 30, 0.15


@dataclass(frozen=True)
class Context:
    """What a job may use of the child it runs in.

    `progress` sends a plain message ahead of the answer. `on_line` stores the line the program has
    reached, which is read if the child dies. `deadline` is when the job should stop by itself, in
    seconds of `time.monotonic`, shortly before it is stopped. `is_stopped` says whether the reader
    has stopped the job, which should then answer with what it has done. `data` is the caller's
    file; `send` sends raw bytes ahead of the answer. `part` sends what there is of the answer,
    which stands for it if the child has to be ended. `finish` sends the answer, from any thread,
    and ends the process.
    """

    progress: Callable[[Any], None]
    on_line: Callable[[int], None]
    deadline: float
    is_stopped: Callable[[], bool] = lambda: False
    data: bytearray = field(default_factory=bytearray)
    send: Callable[[Any], None] = lambda data: None
    part: Callable[[Any], None] = lambda answer: None
    finish: Callable[[Any], None] = lambda answer: None


#: A job takes a plain request and a Context, and returns a plain answer.
Job = Callable[[Any, Context], Any]


@dataclass(frozen=True)
class RunProgress:
    """The line a program has reached, how often that line has run, and what was printed since the
    report before: the last characters of it. Once its network runs, `stage` says what is being
    done, and `fraction` how much of it, if that is known."""

    line: int = 0
    count: int = 0
    printed: str = ""
    stage: str = ""
    fraction: float | None = None


class ChildJob:
    """The `Job` of `explorer.networks.runs` in a child: reports go to the app, a few a second."""

    def __init__(self, context: Context) -> None:
        self._context, self._next = context, 0.0
        self.parts: list[Any] = []

    @property
    def wanted(self) -> bool:
        return not self._context.is_stopped() and time.monotonic() < self._context.deadline

    @property
    def deadline(self) -> float:
        return self._context.deadline

    def report(self, stage: str, fraction: float | None = None) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + INTERVAL
            self._context.progress(to_plain(RunProgress(stage=stage, fraction=fraction)))


class RunReporter:
    """The `on_pulse` of a program: reports how far it is, and ends it if the reader has stopped it.
    Now and then it sends the Trace so far: of a program that the kernel has to end, that is left.

    Whatever happens here must not reach the program as an exception that it could catch.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._start = time.monotonic()
        self._next = self._start + INTERVAL  # a short program's answer is all that is said of it
        self._reported = 0  # characters of output
        self._next_part = self._start + FIRST_PART
        self._cost = 0.0  # seconds for each tensor of the last part
        self._watcher: Watcher | None = None  # known from the first statement on

    @contextmanager
    def before_exit(self) -> Iterator[None]:
        """Meanwhile `os._exit`, which ends a program at once, sends the Trace so far first."""
        end = os._exit

        def send_and_end(status: int) -> None:
            os._exit = end  # whatever comes of this call, one part is enough
            if self._watcher is not None and self._watcher.thread == get_ident():
                self._send_part(self._watcher)
            end(status)

        os._exit = send_and_end  # type: ignore[assignment]
        try:
            yield
        finally:
            os._exit = end

    def __call__(self, watcher: Watcher) -> None:
        now, self._watcher = time.monotonic(), watcher
        try:
            is_stopped = self._context.is_stopped()
            if now >= self._next and not is_stopped:
                self._next = now + INTERVAL
                self._report(watcher)
            is_cheap = now - self._start >= COST * self._cost * watcher.recorded
            if now >= self._next_part and is_cheap and not is_stopped:
                self._send_part(watcher)
        except OSError:
            is_stopped = True  # the server has ended
        except Exception:
            _LOG.exception("a program cannot be reported on")  # it has changed what is read here
        if is_stopped:
            raise ProgramStopped(
                f"You stopped the program after {now - self._start:.1f} s.",
                "What it had done by then is shown.",
                by_reader=True,
            )

    def _send_part(self, watcher: Watcher) -> None:
        """What has been recorded, unless that is too much. It may take a small part of the time."""
        began = time.monotonic()
        with suppress(Exception):  # too large, or of a program in the midst of something
            if watcher.snapshot is not None:
                self._context.part(to_plain(watcher.snapshot()))
        now = time.monotonic()
        self._cost = (now - began) / max(watcher.recorded, 1)
        self._next_part = now + SHARE * (now - self._start)

    def _report(self, watcher: Watcher) -> None:
        written = max(watcher.written - self._reported, 0)  # a second run prints the same again
        self._reported += written
        printed = watcher.last_output(min(written, limits.REPORTED_OUTPUT))
        progress = RunProgress(watcher.line, watcher.run_counts[watcher.line], printed)
        self._context.progress(to_plain(progress))
