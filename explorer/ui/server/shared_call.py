"""A call of the sandbox for which several readers wait: what a class asks for at the same moment,
as by a lesson's link, is run once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast
from weakref import WeakSet, WeakValueDictionary

from explorer import limits
from explorer.sandbox import Call, RunProgress
from explorer.sandbox.client import parse_answer
from explorer.ui.server.metrics import count_program

Submit = Callable[..., Call[Any]]


@dataclass
class Progress:
    """How far a program is, and the last of what it has printed. Apart from the SharedCall, so that
    the call does not hold it: with the last reader who waits, the job ends at once."""

    latest: RunProgress | None = None
    output: str = ""

    def add(self, message: Any) -> None:
        self.latest = parse_answer(RunProgress, message)
        self.output = (self.output + self.latest.printed)[-limits.SHOWN_OUTPUT :]


class SharedCall:
    """A call that ends with the last reader who holds it. Safe to use from any number of threads.

    `stopped` once one of its readers has stopped it: the others have to ask again.
    """

    def __init__(self, submit: Submit) -> None:
        self.progress = Progress()
        self.stopped = False
        self._call = submit(on_progress=self.progress.add)
        self._lock = threading.Lock()
        self._asked, self._counted = time.monotonic(), False
        self._result: Any = None
        with _lock:
            _all.add(self)

    @property
    def done(self) -> bool:
        return self._call.done

    @property
    def position(self) -> int:
        return self._call.position

    @property
    def started(self) -> float | None:
        return self._call.started

    def wait(self, seconds: float) -> bool:
        """Wait until the job is done, for at most so many seconds; whether it is. One thread
        listens for all who wait."""
        if not self._lock.acquire(timeout=seconds):
            return self._call.done
        try:
            done = self._call.wait(seconds)
            if done and not self._counted:
                self._count()
            return done
        finally:
            self._lock.release()

    def _count(self) -> None:
        """Count the job once for the operator, unless its readers gave up before its turn came."""
        now, self._counted = time.monotonic(), True
        if (started := self._call.started) is not None:
            count_program(started - self._asked, now - started)
        elif not self.stopped:
            count_program(now - self._asked, None)

    def result(self) -> Any:
        """The answer, read once for all. Raises ProgramRefused."""
        with self._lock:
            if self._result is None:
                self._result = self._call.result()
            return self._result

    def stop(self) -> None:
        self.stopped = True
        self._call.stop()


class Joinable(Protocol):
    """A call that ends with its last holder."""

    @property
    def done(self) -> bool: ...
    @property
    def stopped(self) -> bool: ...


C = TypeVar("C", bound=Joinable)

#: The calls under way, by what was asked. Only those who wait hold them.
_under_way: WeakValueDictionary[str, Joinable] = WeakValueDictionary()
#: All calls, shared or not.
_all: WeakSet[SharedCall] = WeakSet()
#: Reentrant: while it is held, a call may be freed.
_lock = threading.RLock()


def count_under_way() -> tuple[int, int]:
    """How many calls run now, and how many wait."""
    with _lock:
        calls = [call for call in _all if not call.done]
    running = sum(call.started is not None for call in calls)
    return running, len(calls) - running


def join(key: str, make: Callable[[], C]) -> C:
    """The call under way that others have made for the same `key`, or a new one."""
    with _lock:
        call = _under_way.get(key)
        if call is None or call.done or call.stopped:
            call = _under_way[key] = make()
        return cast(C, call)
