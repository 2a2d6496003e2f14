"""What this process has been doing lately, for the operator's page: how often and how long, never
who or what. Kept for a moment and in memory alone."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import ClassVar

#: The most events of a kind that are kept.
_KEPT, _KEPT_ERRORS = 20_000, 50


@dataclass(frozen=True)
class PageRun:
    """A run of a page: when it ended (time.monotonic) and how many seconds it took."""

    page: str
    ended: float
    seconds: float


@dataclass(frozen=True)
class ProgramRun:
    """A job of the sandbox: when it ended, and for how many seconds it waited and ran."""

    ended: float
    waited: float
    seconds: float


@dataclass(frozen=True)
class LoggedError:
    """An error in the log: the time of day, which part of the app wrote it, and its text."""

    when: str
    logger: str
    text: str


page_runs: deque[PageRun] = deque(maxlen=_KEPT)
program_runs: deque[ProgramRun] = deque(maxlen=_KEPT)
errors: deque[LoggedError] = deque(maxlen=_KEPT_ERRORS)


class _Timer:
    """Counts a run of a page when nothing holds it any more."""

    def __init__(self, page: str) -> None:
        self._page, self._start = page, time.monotonic()

    def __del__(self) -> None:
        now = time.monotonic()
        page_runs.append(PageRun(self._page, now, now - self._start))


_thread = threading.local()


def time_page(page: str) -> None:
    """A page begins to run in this thread.

    Streamlit tells a page nothing of its end, but the thread of a run ends with it, and with the
    thread what it alone holds; or the same thread begins the next run.
    """
    _thread.timer = _Timer(page)


class _Errors(logging.Handler):
    """Keeps the text of errors, without the traceback, which is in the log."""

    #: Streamlit's own logger of a page's exceptions passes nothing on to the others.
    LOGGERS: ClassVar = ("", "streamlit.error_util")

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        when = logging.Formatter().formatTime(record, "%H:%M:%S")
        errors.append(LoggedError(when, record.name, text))


_handler = _Errors(logging.ERROR)


def keep_errors() -> None:
    """Keep what is logged as an error from now on. Calling it again does nothing."""
    for name in _Errors.LOGGERS:
        logging.getLogger(name).addHandler(_handler)
