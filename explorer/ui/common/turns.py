"""Turns: while many pages run at once, whoever has used least lately goes first.

Python executes one thread at a time, and each run of a page is one; forty that are under way make
each of them forty times slower. So no more than a few begin at once. Of those that wait, the one
goes next whose session has used the least processor time lately, and one place is kept from those
that have used much: whoever floods the app waits for everybody else, also from forty sessions. A
run that waits for the sandbox lets others begin, and then waits for its next turn. After `QUICK`
seconds it no longer counts: it may be waiting for something else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from explorer.sandbox.fair_queue import Use

#: Runs that may be under way at once, and seconds after which one no longer counts. With more of
#: them the thread that talks to the browsers gets too small a share of the interpreter.
SLOTS, QUICK = 2, 0.5
#: Seconds of processor lately: a reader uses about half of it. Of those that have used more, one
#: runs at a time, so that for others there is a place at once.
MUCH = 0.3
#: How soon a waiting run notices that it is no longer needed, in seconds.
INTERVAL = 0.1


@dataclass(eq=False)
class _Ticket:
    """A run that waits."""

    use: Use
    number: int
    may_begin: threading.Event = field(default_factory=threading.Event)


class Turns:
    """Who runs and who waits."""

    def __init__(self, slots: int = SLOTS) -> None:
        self._slots = slots
        self._lock = threading.Lock()
        self._numbers = count()
        self._waiting: list[_Ticket] = []
        self._running: dict[int, tuple[float, bool]] = {}  # when each began, and if it used much

    def begin(self, use: Use, still_needed: Callable[[], object]) -> int:
        """Wait for a turn; the number to `end` it with. `still_needed` is called now and then while
        it waits, and may raise."""
        with self._lock:
            ticket = _Ticket(use, next(self._numbers))
            self._waiting.append(ticket)
            self._call_next()
        try:
            while not ticket.may_begin.wait(INTERVAL):
                still_needed()
                with self._lock:
                    self._call_next()  # one under way may have become long
        except BaseException:
            with self._lock:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                self._running.pop(ticket.number, None)
                self._call_next()
            raise
        return ticket.number

    def end(self, number: int) -> None:
        with self._lock:
            self._running.pop(number, None)
            self._call_next()

    def _call_next(self) -> None:
        """Let as many begin as there is room for. Others sleep on: each thread that wakes up takes
        the interpreter from those that run."""
        now = time.monotonic()
        while self._waiting:
            # Who has used less goes first, then who came first.
            used, _, ticket = min((t.use.recent(now), t.number, t) for t in self._waiting)
            used_much = used > MUCH
            under_way = [much for began, much in self._running.values() if began > now - QUICK]
            if len(under_way) >= self._slots or (used_much and any(under_way)):
                return
            self._waiting.remove(ticket)
            self._running[ticket.number] = now, used_much
            ticket.may_begin.set()


class _Run:
    """A run of a page. It ends when nothing holds it any more."""

    def __init__(self, turns: Turns, use: Use, still_needed: Callable[[], object]) -> None:
        self._turns, self._use, self._still_needed = turns, use, still_needed
        self._number = turns.begin(use, still_needed)
        self._start = time.thread_time()

    def _end(self) -> None:
        now = time.thread_time()
        self._use.add(now - self._start, time.monotonic())
        self._start = now
        self._turns.end(self._number)

    @contextmanager
    def pause(self, may_end: bool) -> Iterator[None]:
        self._end()
        try:
            yield
        finally:
            self._number = self._turns.begin(self._use, self._still_needed if may_end else _keep)

    def __del__(self) -> None:
        if hasattr(self, "_start"):
            self._end()


def _keep() -> None:
    """Ends no run that waits."""


_turns = Turns()
_thread = threading.local()


def take_turn(use: Use, still_needed: Callable[[], object]) -> None:
    """Wait until this thread's run of a page may begin. It ends with the thread, or with the next
    run of the same thread: Streamlit tells a page nothing of its end."""
    _thread.run = None
    _thread.run = _Run(_turns, use, still_needed)


@contextmanager
def while_waiting(may_end: bool = True) -> Iterator[None]:
    """Let others begin while this thread's run waits for something else than the processor. It then
    waits for its next turn, and ends there if it is superseded, unless it may not."""
    run: _Run | None = getattr(_thread, "run", None)
    if run is None:
        yield
    else:
        with run.pause(may_end):
            yield
