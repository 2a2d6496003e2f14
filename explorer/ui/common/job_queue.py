"""A queue of network runs: one thread computes them one after another for all readers.

A large network keeps every core busy for seconds: two at a time would be slower than one after
the other. A run is computed once, however many readers wait for it, and a reader's page shows
progress meanwhile.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer.networks.error_messages import explain
from explorer.networks.job import Abandoned
from explorer.ui.common.shared_cache import SharedCache, size
from explorer.ui.common.widgets import refuse

#: How many bytes of finished results are kept for all readers together.
CAPACITY = 64 * 2**20
#: Seconds that a page waits for a result before it shows progress.
PATIENCE = 1.5


class NetworkJob:
    """A run that is waiting, under way or finished.

    `stage` and `fraction` (0 to 1, None if not known) are its progress; `parts` are its results so
    far; `wanted` is False once nobody waits for it.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self.stage = ""
        self.fraction: float | None = None
        self.parts: list[Any] = []
        self.result: Any = None
        self.error: Exception | None = None
        self.owners: set[str] = set()
        self.done = threading.Event()
        self._future: Future[None] | None = None

    @property
    def wanted(self) -> bool:
        return bool(self.owners)

    def report(self, stage: str, fraction: float | None = None) -> None:
        """Called by the run itself."""
        self.stage, self.fraction = stage, fraction


class JobQueue:
    """The jobs of all readers. Results are immutable, so that readers can share them."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._finished: SharedCache[NetworkJob] = SharedCache(
            capacity, lambda job: size(job.result)
        )
        self._waiting: OrderedDict[str, NetworkJob] = OrderedDict()
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="networks")

    def request(self, owner: str, key: str, make: Callable[[NetworkJob], Any]) -> NetworkJob:
        """The job `key`, started if it is new. An owner waits for one job at a time: the owner's
        earlier job is left, and abandoned if nobody else waits for it."""
        with self._lock:
            finished = self._finished.get(key)
            if finished is not None:
                self._leave(owner)
                return finished
            job = self._waiting.get(key)
            self._leave(owner, but=job)
            if job is None or not job.wanted:  # an abandoned job may end without a result
                job = self._waiting[key] = NetworkJob(key)
                job.owners.add(owner)  # before it begins: what nobody waits for is given up
                job._future = self._thread.submit(self._do, job, make)
            job.owners.add(owner)
            return job

    def leave(self, owner: str) -> None:
        """The owner no longer waits."""
        with self._lock:
            self._leave(owner)

    def leave_all(self, reader: str) -> None:
        """The reader has gone: none of the owners `reader:slot` waits any longer."""
        with self._lock:
            owners = set().union(*(job.owners for job in self._waiting.values()))
            for owner in owners:
                if owner.startswith(f"{reader}:"):
                    self._leave(owner)

    def count_ahead(self, job: NetworkJob) -> int:
        """How many jobs will be finished before this one starts."""
        with self._lock:
            waiting = list(self._waiting.values())
        return waiting.index(job) if job in waiting else 0

    def count_waiting(self) -> int:
        """How many jobs wait until the one under way has finished."""
        with self._lock:
            return max(0, len(self._waiting) - 1)

    def _leave(self, owner: str, but: NetworkJob | None = None) -> None:
        for job in list(self._waiting.values()):
            if job is not but and owner in job.owners:
                job.owners.discard(owner)
                if not job.owners and job._future is not None and job._future.cancel():
                    self._remove(job)

    def _do(self, job: NetworkJob, make: Callable[[NetworkJob], Any]) -> None:
        try:
            job.result = make(job)
        except Exception as error:
            job.error = error
        try:
            with self._lock:
                self._remove(job)
                if job.error is None:
                    self._finished.put(job.key, job)
        finally:  # whatever happens, nobody waits for ever
            job.done.set()

    def _remove(self, job: NetworkJob) -> None:
        if self._waiting.get(job.key) is job:
            del self._waiting[job.key]


@cache
def job_queue() -> JobQueue:
    """The queue of this process."""
    return JobQueue()


def _owner(slot: str) -> str:
    """Who waits: this reader, in this part of the page."""
    context = get_script_run_ctx()
    return f"{_reader(context.session_id) if context else ''}:{slot}"


def _leave_queue(reader: str) -> None:
    job_queue().leave_all(reader)


@st.cache_resource(scope="session", show_spinner=False, on_release=_leave_queue)
def _reader(session: str) -> str:
    """Kept by Streamlit until the reader leaves; the reader's jobs are then abandoned."""
    return session


def leave(slot: str) -> None:
    """This reader no longer waits for what `await_result` was asked in a slot."""
    job_queue().leave(_owner(slot))


def await_result(
    slot: str,
    key: str,
    make: Callable[[NetworkJob], Any],
    *,
    patience: float = PATIENCE,
    on_stop: Callable[[NetworkJob], None] | None = None,
) -> Any:
    """The result of `make`, or None until it is finished.

    Meanwhile progress is shown, and the page runs again as soon as the result is there. What
    `make` raises is shown as a sentence. With `on_stop` the reader may stop it.
    """
    job = job_queue().request(_owner(slot), f"{slot} {key}", make)
    place = st.container()  # always drawn, so that what follows keeps its place on the page
    job.done.wait(patience)
    with place:
        if not job.done.is_set():
            _draw_progress(slot, job, on_stop)
            return None
        if job.error is not None and not isinstance(job.error, Abandoned):
            refuse(_explain(job.error))
        return job.result


def _explain(error: Exception) -> str:
    """What went wrong: our own sentences as they are, torch's explained."""
    if isinstance(error, ValueError) and not error.__cause__:
        text = str(error).rstrip(".")
        return f"{text[:1].upper()}{text[1:]}."
    explained = explain(error)
    return f"{explained.message} {explained.hint}".strip()


@st.fragment(run_every=0.4)
def _draw_progress(
    slot: str, job: NetworkJob, on_stop: Callable[[NetworkJob], None] | None
) -> None:
    if job.done.is_set():
        st.rerun()
    ahead = job_queue().count_ahead(job)
    runs = "run" if ahead == 1 else "runs"
    text = f"Waiting for {ahead} other {runs}" if ahead else job.stage or "Starting"
    if on_stop is None:
        st.progress(job.fraction or 0.0, text)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(job.fraction or 0.0, text)
        if st.button(
            "Stop",
            key=f"stop-{slot}",
            icon=":material/stop:",
            help="Ends the run here",
        ):
            on_stop(job)
            leave(slot)
            st.rerun()
