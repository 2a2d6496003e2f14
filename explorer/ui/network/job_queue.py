"""Runs of networks, made one after another by one thread for all readers, each only once.

A large network keeps every core busy for seconds: two at a time would be slower than one after
the other, and a reader's page must not stand still meanwhile.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

#: How many finished results are kept for all readers together.
KEPT = 48


class Unwanted(Exception):
    """Raised by a job that ends early because nobody waits for it."""


class Job:
    """A result in the making. `stage` and `share` (0 to 1, None if not known) say how far it is;
    `parts` is what it has found so far; `wanted` is False once nobody waits for it."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.stage = ""
        self.share: float | None = None
        self.parts: list[Any] = []
        self.result: Any = None
        self.error: Exception | None = None
        self.owners: set[str] = set()
        self.done = threading.Event()
        self._future: Future[None] | None = None

    @property
    def wanted(self) -> bool:
        return bool(self.owners)

    def say(self, stage: str, share: float | None = None) -> None:
        """Called by the work itself."""
        self.stage, self.share = stage, share


class JobQueue:
    """Everybody's jobs. Results are immutable, so that all readers may share one."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._finished: OrderedDict[str, Job] = OrderedDict()
        self._waiting: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="networks")

    def ask(self, owner: str, key: str, make: Callable[[Job], Any]) -> Job:
        """The job `key`, begun if it is new. An owner wants one job at a time: his earlier one is
        left, and given up if nobody else wants it."""
        with self._lock:
            finished = self._finished.get(key)
            if finished is not None:
                self._finished.move_to_end(key)
                self._leave(owner)
                return finished
            job = self._waiting.get(key)
            self._leave(owner, but=job)
            if job is None or not job.wanted:  # one that is given up may end without a result
                job = self._waiting[key] = Job(key)
                job._future = self._thread.submit(self._do, job, make)
            job.owners.add(owner)
            return job

    def leave(self, owner: str) -> None:
        """The owner no longer waits."""
        with self._lock:
            self._leave(owner)

    def gone(self, reader: str) -> None:
        """The reader has left: none of the owners `reader:slot` waits any longer."""
        with self._lock:
            owners = set().union(*(job.owners for job in self._waiting.values()))
            for owner in owners:
                if owner.startswith(f"{reader}:"):
                    self._leave(owner)

    def ahead(self, job: Job) -> int:
        """How many jobs are to be finished before this one begins."""
        with self._lock:
            waiting = list(self._waiting.values())
        return waiting.index(job) if job in waiting else 0

    def _leave(self, owner: str, but: Job | None = None) -> None:
        for job in list(self._waiting.values()):
            if job is not but and owner in job.owners:
                job.owners.discard(owner)
                if not job.owners and job._future is not None and job._future.cancel():
                    self._remove(job)

    def _do(self, job: Job, make: Callable[[Job], Any]) -> None:
        try:
            job.result = make(job)
        except Exception as error:
            job.error = error
        with self._lock:
            self._remove(job)
            if job.error is None:
                self._finished[job.key] = job
                while len(self._finished) > self._kept:
                    self._finished.popitem(last=False)
        job.done.set()

    def _remove(self, job: Job) -> None:
        if self._waiting.get(job.key) is job:
            del self._waiting[job.key]
