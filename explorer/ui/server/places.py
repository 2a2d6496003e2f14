"""When a reader's page is run: not too often, and in a place of which there are few.

Streamlit runs every request in a thread of its own and only ends the one before it at that one's
next `st` call, which may be a whole program away. A client that requests seventy runs a second
would keep everyone waiting. A run that waits here does nothing yet, and ends as soon as the next
request arrives, so nothing but the last of a flood is worked on. Runs of a fragment need no limit:
Streamlit runs them one after another and combines those that wait.

Python executes one thread at a time: forty runs that are under way make each of them forty times
slower. So no more than a few begin at once. The session that has used least goes next, and one
place is kept from those that have used much: whoever floods the app waits for everybody else, also
from forty sessions. A run that waits for the sandbox leaves its place, and then waits for another.
After a moment a run no longer counts: it may be waiting for something else.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import streamlit as st

from explorer import limits
from explorer.sandbox.fair_queue import FairQueue
from explorer.ui.server.live_run import reader

#: How soon a waiting run notices that it is no longer needed, in seconds.
INTERVAL = 0.1

_KEY = "frame.rerun-rate"


@dataclass
class Allowance:
    """The runs a reader may have at the time `now`; below 0 if there were too many."""

    runs: float = limits.RERUNS_AT_ONCE
    now: float = field(default_factory=time.monotonic)

    def take(self, now: float) -> float:
        """Take one run at the time `now`. Returns the seconds to wait before it."""
        self.runs = min(limits.RERUNS_AT_ONCE, self.runs + (now - self.now) * limits.RERUNS)
        self.runs = max(self.runs - 1, -limits.RERUN_WAIT * limits.RERUNS)
        self.now = now
        return max(0.0, -self.runs / limits.RERUNS)


@dataclass(eq=False)
class Place:
    """The place of a run that waits for it or has it."""

    reader: str
    background: bool = False
    given: threading.Event = field(default_factory=threading.Event)


class Places:
    """Who has a place, and who waits for one."""

    def __init__(self, count: int = limits.PAGE_PLACES) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._waiting: FairQueue[Place] = FairQueue()
        self._taken: dict[Place, tuple[float, bool]] = {}  # when, and by one that had used much
        self._left: deque[tuple[Place, float]] = deque()  # and the seconds that were used there

    def take(self, reader: str, still_needed: Callable[[], object]) -> Place:
        """Wait for a place. `still_needed` is called now and then meanwhile, and may raise."""
        place = Place(reader)
        with self._lock:
            self._waiting.add(place)
            self._give()
        try:
            while not place.given.wait(INTERVAL):
                still_needed()
                with self._lock:
                    self._give()  # a run that has become long no longer counts
        except BaseException:
            with self._lock:
                if place in self._taken:
                    del self._taken[place]
                else:
                    self._waiting.remove(place)
                self._give()
            raise
        return place

    def leave(self, place: Place, seconds: float) -> None:
        """Give the place back, after so many seconds of processor time.

        Waits for nobody: a run may be freed anywhere, even where its thread has the lock. Then
        those who wait notice a moment later.
        """
        self._left.append((place, seconds))
        if self._lock.acquire(blocking=False):
            try:
                self._give()
            finally:
                self._lock.release()

    def _give(self) -> None:
        """Give away the places that are free. Who has none sleeps on: each thread that wakes up
        takes the interpreter from those that run."""
        while self._left:
            place, seconds = self._left.popleft()
            self._waiting.ledger.charge(place.reader, seconds)
            self._taken.pop(place, None)
        now = time.monotonic()
        while len(self._waiting):
            counted = [much for at, much in self._taken.values() if at > now - limits.PAGE_QUICK]
            if len(counted) >= self._count:
                return
            # Beside one that has used much, the last place is for those that have not.
            given = self._waiting.take(self._has_used_little if any(counted) else lambda _: True)
            if given is None:
                return
            self._taken[given] = now, not self._has_used_little(given)
            given.given.set()

    def _has_used_little(self, place: Place) -> bool:
        return self._waiting.ledger.used(place.reader) <= limits.MUCH_USED


class _Run:
    """A run of a page. It ends when nothing holds it any more."""

    def __init__(self, places: Places, reader: str) -> None:
        self._places, self._reader = places, reader
        self._place = places.take(reader, _end_if_superseded)
        self._start = time.thread_time()

    def _leave(self) -> None:
        now = time.thread_time()
        self._places.leave(self._place, now - self._start)
        self._start = now

    @contextmanager
    def pause(self, may_end: bool) -> Iterator[None]:
        self._leave()
        try:
            yield
        finally:
            still_needed = _end_if_superseded if may_end else lambda: None
            self._place = self._places.take(self._reader, still_needed)

    def __del__(self) -> None:
        if hasattr(self, "_start"):
            self._leave()


_places = Places()
_thread = threading.local()


def wait_for_place() -> None:
    """Wait if this reader's pages have been run too often, and then for a place among all readers.
    Called before anything is drawn.

    The run has the place until its thread ends, or begins the next run: Streamlit tells a page
    nothing of its end.
    """
    allowance: Allowance = st.session_state.setdefault(_KEY, Allowance())
    start = time.monotonic()
    until = start + allowance.take(start)
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, INTERVAL))
        _end_if_superseded()
    _thread.run = None
    _thread.run = _Run(_places, reader() or "")


@contextmanager
def while_waiting(may_end: bool = True) -> Iterator[None]:
    """Leave the place while this thread's run waits for something else than the processor. It then
    waits for another, and ends there if it is superseded, unless it may not."""
    run: _Run | None = getattr(_thread, "run", None)
    if run is None:
        yield
    else:
        with run.pause(may_end):
            yield


def _end_if_superseded() -> None:
    """Looking at the session, Streamlit ends a run when the next one has been requested."""
    _ = st.session_state.get(_KEY)
