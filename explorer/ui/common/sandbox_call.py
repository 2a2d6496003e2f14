"""Asking the sandbox for this reader: jobs under way, their progress, and the traces of programs.

No page waits for a job: what takes longer than a moment is a `Job` of the reader's session, and a
fragment of the page asks for it again and again while the rest of the page stays usable.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import Any

import numpy as np
import streamlit as st
from cachetools import LRUCache

from explorer import sandbox
from explorer.language import ProgramRefused
from explorer.sandbox import exit_reasons
from explorer.sandbox.client import parse_answer
from explorer.trace import Trace
from explorer.ui.common.live_run import end_live_run, reader

#: How many programs' traces are kept for all readers together, and about how many bytes of them.
#: The last one is kept whatever its size.
KEPT, KEPT_BYTES = 64, 256 * 2**20
#: The longest time in seconds that a page waits for a job, and the time between two looks at it.
WAIT, INTERVAL = 0.2, 0.25
#: How long a page that cannot go on waits before it says so.
QUIET = 0.5
#: Most characters of a program's output that are shown while it runs: the last ones.
SHOWN = 4000

_JOBS, _PAGE = "sandbox.jobs", "sandbox.page"


@dataclass
class Progress:
    """How far a program is, and the last of what it has printed. Apart from the Job, so that the
    call does not hold the Job: with a session its jobs end at once."""

    latest: sandbox.RunProgress | None = None
    output: str = ""

    def add(self, message: Any) -> None:
        self.latest = parse_answer(sandbox.RunProgress, message)
        self.output = (self.output + self.latest.printed)[-SHOWN:]


@dataclass
class Job:
    """A call of the sandbox that a reader waits for. `key` says what was asked, `label` what is
    being done; without a label nothing is shown. Only a `stoppable` one keeps what it did when it
    is stopped."""

    key: str
    label: str
    stoppable: bool
    call: sandbox.Call[Any] = field(init=False)
    progress: Progress = field(default_factory=Progress)
    stopping: bool = False
    #: Several runs of the page, each in a thread of its own, may look at one job.
    lock: Any = field(default_factory=threading.Lock)
    _result: Any = None

    def wait(self, seconds: float) -> bool:
        with self.lock:
            return self.call.wait(seconds)

    def result(self) -> Any:
        if self._result is None:
            self._result = self.call.result()
        return self._result

    def stop(self) -> None:
        self.stopping = True
        with self.lock:
            self.call.stop()

    def cancel(self) -> None:
        with self.lock:
            self.call.cancel()

    def describe(self) -> str:
        """How far it is, in words."""
        call, progress = self.call, self.progress.latest
        if call.started is None:
            return f"Waiting: number {call.position} in the queue" if call.position else "Starting"
        seconds = f"{time.monotonic() - call.started:.0f} s"
        if self.stopping:
            return f"Stopping · {seconds}"
        if progress is None:
            return f"{self.label} · {seconds}"
        times = f", run {progress.count:,} times" if progress.count > 1 else ""
        return f"{self.label}: line {progress.line}{times} · {seconds}"


def ask(
    slot: str,
    key: str,
    submit: Callable[..., sandbox.Call[Any]],
    *,
    label: str,
    place: Any = None,
    stoppable: bool = False,
) -> Any:
    """The result of a job; None while it is under way. Raises ProgramRefused.

    `slot` names what the page needs it for, `key` what it depends on: another key in the same slot
    cancels the job before. `submit` is one of the functions of `explorer.sandbox` that return a
    Call. While the job is under way, `place` (by default a new one) shows how far it is, and the
    page is run again when it is done; then the result is the same until `forget`.
    """
    place = place or st.empty()
    jobs = _jobs()
    job, seconds = jobs.get(slot), 0.0
    if job is None or job.key != key:
        forget(slot)
        job, seconds = Job(key, label, stoppable), WAIT
        job.call = submit(reader=reader(), on_progress=job.progress.add)
        jobs[slot] = job
    if not job.wait(seconds):
        with place.container():
            _show(slot)
        return None
    try:
        return job.result()
    except ProgramRefused:
        if _jobs().get(slot) is job:  # and not one that has replaced it
            forget(slot)
        raise


def wait_for(submit: Callable[..., sandbox.Call[Any]], *, label: str, place: Any) -> Any:
    """The result of a job without which nothing more can be drawn. Raises ProgramRefused.

    `place`, an `st.empty()`, shows how far it is if it takes longer than a moment. If the whole
    page is run again meanwhile, Streamlit ends this run when the session is looked at next, which
    cancels the job.
    """
    job, until = Job("", label, stoppable=False), time.monotonic() + QUIET
    job.call = submit(reader=reader(), on_progress=lambda message: None)
    shown = False
    try:
        while not job.wait(WAIT):
            _jobs()
            if time.monotonic() < until:
                continue
            shown = True
            place.html(f'<div class="ax-note ax-progress">{escape(job.describe())}</div>')
        return job.result()
    finally:
        job.cancel()
        if shown:
            place.empty()


def forget(slot: str) -> None:
    """Cancel the job in a slot, if there is one, or forget its result."""
    job = _jobs().pop(slot, None)
    if job is not None:
        job.cancel()


def forget_all() -> None:
    """Cancel all jobs of this reader: none is needed for what they are to see next."""
    end_live_run()
    for slot in list(_jobs()):
        forget(slot)


def enter_page(page: str) -> None:
    """Cancel the jobs of the page that the reader has left. Called first on every page."""
    if st.session_state.setdefault(_PAGE, page) != page:
        st.session_state[_PAGE] = page
        forget_all()


def _jobs() -> dict[str, Job]:
    """The reader's jobs, by slot."""
    jobs: dict[str, Job] = st.session_state.setdefault(_JOBS, {})
    return jobs


def _stop(slot: str) -> None:
    """Stop what runs now: leaving the editor for the button may have started another program."""
    job = _jobs().get(slot)
    if job is not None:
        job.stop()


@st.fragment(run_every=INTERVAL)
def _show(slot: str) -> None:
    """Show how far a job is. Runs by itself; runs the page once the job is done."""
    job = _jobs().get(slot)
    if job is None:
        return
    if job.wait(WAIT if job.stopping else 0.0):
        st.rerun()
    if not job.label:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if job.stoppable:
            st.button(
                "Stop",
                key=f"{slot}-stop",
                icon=":material/stop:",
                help="Ends the program at its next statement and shows what it did",
                disabled=job.stopping,
                on_click=_stop,
                args=(slot,),
            )
        st.html(f'<div class="ax-note ax-progress">{escape(job.describe())}</div>', width="stretch")
    if job.progress.output:
        st.html(f'<pre class="ax-printed ax-newest">{escape(job.progress.output)}</pre>')


def charge(trace: Trace) -> int:
    """The share of `KEPT_BYTES` a trace takes: no trace takes more than all of it, nor so little
    that more than `KEPT` fit."""
    return min(max(size(trace), KEPT_BYTES // KEPT), KEPT_BYTES)


def size(value: Any) -> int:
    """About how many bytes plain data takes, its parts included."""
    if isinstance(value, np.ndarray):
        return 200 + value.nbytes
    taken = sys.getsizeof(value)
    if dataclasses.is_dataclass(value):
        parts: Iterable[Any] = vars(value).values()
        taken += sys.getsizeof(vars(value))
    elif isinstance(value, dict):
        parts = (*value, *value.values())
    elif isinstance(value, list | tuple):
        parts = value
    else:
        return taken
    return taken + sum(map(size, parts))


#: Traces are immutable, so all readers may share one; `st.cache_data` would unpickle a copy at
#: every rerun and could not say that a reader waits.
_traces: LRUCache[str, Trace] = LRUCache(KEPT_BYTES, getsizeof=charge)
_lock = threading.Lock()


def run(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    capture: str = "hook",
    upstream: Any = None,
    iteration: int | None = None,
    afresh: bool = False,
    seed: int = 0,
    slot: str = "run",
    seconds: float | None = None,
) -> Trace | None:
    """What the program did; see `explorer.sandbox.run`. None while it runs or waits, which is
    shown; see `ask` for that and for `slot`.

    `afresh` runs the program even if its trace is kept. With `seconds`, it runs no longer than
    that, and nothing is shown meanwhile.
    """
    settings = {
        "seed": seed,
        "capture": capture,
        "upstream": upstream,
        "iteration": iteration,
        "inputs": dict(inputs or {}),
    }
    key = repr((source, settings))
    place = st.empty()  # always there, so that what follows keeps its place on the page
    asked = f"{key} {seconds}"
    job = _jobs().get(slot)
    if afresh or (job is not None and job.key != asked):
        forget(slot)
        job = None
    with _lock:
        trace = None if afresh or job is not None else _traces.get(key)
    if trace is not None:
        return trace
    longest = sandbox.options().seconds
    timeout = longest if seconds is None else min(seconds, longest)
    submit = partial(sandbox.submit_run, source, timeout=timeout, **settings)
    label = "Running" if seconds is None else ""
    trace = ask(slot, asked, submit, label=label, place=place, stoppable=seconds is None)
    if trace is None or _is_stopped(trace) or (seconds is not None and is_out_of_time(trace)):
        return trace  # the slot keeps it
    forget(slot)
    with _lock:
        if _decided_by_program(trace):
            _traces[key] = trace
        else:
            _traces.pop(key, None)
    return trace


def is_out_of_time(trace: Trace) -> bool:
    """Whether the program needs longer than it could run."""
    return trace.error is not None and exit_reasons.is_out_of_time(trace.error)


def _is_stopped(trace: Trace) -> bool:
    return trace.error is not None and trace.error.stopped


def _decided_by_program(trace: Trace) -> bool:
    """Whether the program alone decided the outcome, and not how busy the machine was."""
    return trace.error is None or trace.error.line is not None
