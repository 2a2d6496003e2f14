"""How far a program is, told while it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from explorer.language import ProgramStopped, Watcher
from explorer.sandbox.task import Context
from explorer.trace import to_plain

#: Seconds between two reports, and the most characters of output in one.
INTERVAL, MOST_PRINTED = 0.1, 2000


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
    """The `Job` of `explorer.networks.job` in a child: reports go to the app, a few a second."""

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

    Whatever happens here must not reach the program as an exception that it could catch.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._start = time.monotonic()
        self._next = self._start + INTERVAL  # a short program's answer is all that is said of it
        self._reported = 0  # characters of output

    def __call__(self, watcher: Watcher) -> None:
        now = time.monotonic()
        try:
            is_stopped = self._context.is_stopped()
            if now >= self._next and not is_stopped:
                self._next = now + INTERVAL
                self._report(watcher)
        except OSError:
            is_stopped = True  # the server has ended
        if is_stopped:
            raise ProgramStopped(
                f"You stopped the program after {now - self._start:.1f} s.",
                "What it had done by then is shown.",
                by_reader=True,
            )

    def _report(self, watcher: Watcher) -> None:
        written = max(watcher.written - self._reported, 0)  # a second run prints the same again
        self._reported += written
        printed = watcher.last_output(min(written, MOST_PRINTED))
        progress = RunProgress(watcher.line, watcher.run_counts[watcher.line], printed)
        self._context.progress(to_plain(progress))
