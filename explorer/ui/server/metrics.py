"""What this process adds to Streamlit's metrics, which monitoring reads at `/_stcore/metrics`: how
many programs run and wait, how long they and the pages take, what memory they need. It counts, and
says nothing of who typed what; `serving.LocalMetrics` shows it to this machine alone."""

from __future__ import annotations

import math
import os
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate

from streamlit import runtime
from streamlit.runtime.stats import CounterStat, GaugeStat, HistogramStat, Stat

from explorer.ui.pages import GLOSSARY, HOME, PAGES
from explorer.ui.server.processes import descendants, memory

#: Upper bounds of the histograms' buckets, in seconds.
_BOUNDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, math.inf)


class _Times:
    """How often something took how many seconds, since the start."""

    def __init__(self) -> None:
        self._counts, self._sum = [0] * len(_BOUNDS), 0.0
        self._lock = threading.RLock()  # a timer may be freed where its own thread counts

    def add(self, seconds: float) -> None:
        with self._lock:
            self._counts[bisect_left(_BOUNDS, seconds)] += 1
            self._sum += seconds

    def stat(self, family: str, help: str, **labels: str) -> HistogramStat:
        with self._lock:
            counts, total = tuple(accumulate(self._counts)), self._sum
        buckets = tuple(zip(_BOUNDS, counts, strict=True))
        return HistogramStat(family, buckets, total, counts[-1], labels, "seconds", help)


_pages = {page.key: _Times() for page in (HOME, *PAGES, GLOSSARY)}
_waited, _ran = _Times(), _Times()
_refused, _is_provided = 0, False
_lock = threading.Lock()


def count_program(waited: float, ran: float | None) -> None:
    """Count a job of the sandbox: the seconds for which it waited for its turn, and then ran; None
    where it was refused, because too many waited or its turn did not come in time."""
    global _refused
    if ran is None:
        with _lock:
            _refused += 1
    else:
        _waited.add(waited)
        _ran.add(ran)


class _Timer:
    """Counts a run of a page when nothing holds it any more."""

    def __init__(self, page: str) -> None:
        self._page, self._start = page, time.monotonic()

    def __del__(self) -> None:
        _pages[self._page].add(time.monotonic() - self._start)


_thread = threading.local()


def time_page(page: str) -> None:
    """A page begins to run in this thread.

    Streamlit tells a page nothing of its end, but the thread of a run ends with it, and with the
    thread what it alone holds; or the same thread begins the next run.
    """
    _thread.timer = _Timer(page)


def provide(programs: Callable[[], tuple[int, int]], networks: Callable[[], int]) -> None:
    """Add our numbers to Streamlit's, once. `programs` tells how many run and how many wait,
    `networks` how many of their runs wait."""
    global _is_provided
    with _lock:
        if runtime.exists() and not _is_provided:
            _is_provided = True
            runtime.get_instance().stats_mgr.register_provider(_Provider(programs, networks))


class _Provider:
    """Streamlit's `StatsProvider`."""

    def __init__(
        self, programs: Callable[[], tuple[int, int]], networks: Callable[[], int]
    ) -> None:
        self._programs, self._networks = programs, networks
        self._families: dict[str, Callable[[str], Iterator[Stat]]] = {
            "explorer_jobs": self._jobs,
            "explorer_refused": _refusals,
            "explorer_program_seconds": _program_seconds,
            "explorer_page_seconds": _page_seconds,
            "explorer_memory_bytes": _memory_bytes,
        }
        self.stats_families = tuple(self._families)

    def get_stats(self, family_names: Sequence[str] | None = None) -> Mapping[str, Sequence[Stat]]:
        """The families that are asked for, or all of them."""
        asked = family_names or self.stats_families
        return {name: [*stats(name)] for name, stats in self._families.items() if name in asked}

    def _jobs(self, family: str) -> Iterator[Stat]:
        about = "Readers' programs that run, and programs and networks that wait their turn."
        running, waiting = self._programs()
        for kind, state, number in (
            ("program", "running", running),
            ("program", "waiting", waiting),
            ("network", "waiting", self._networks()),
        ):
            yield GaugeStat(family, number, {"kind": kind, "state": state}, help=about)


def _refusals(family: str) -> Iterator[Stat]:
    yield CounterStat(family, _refused, help="Programs whose turn never came.")


def _program_seconds(family: str) -> Iterator[Stat]:
    about = "How long readers' programs waited for their turn, and ran in child processes."
    for part, times in (("waited", _waited), ("ran", _ran)):
        yield times.stat(family, about, part=part)


def _page_seconds(family: str) -> Iterator[Stat]:
    about = "Runs of whole pages; those of a part of a page are not counted."
    for page, times in _pages.items():
        yield times.stat(family, about, page=page)


def _memory_bytes(family: str) -> Iterator[Stat]:
    about = "Memory of the app's process and of its children; what several share counts once."
    own = os.getpid()
    for of, number in (("app", memory(own)), ("children", sum(map(memory, descendants(own))))):
        yield GaugeStat(family, number, {"of": of}, "bytes", about)
