"""Asking the sandbox for this reader: jobs under way, their progress, and the traces of programs.

No page waits for a job: what takes longer than a moment is a `Job` of the reader's session, and a
fragment of the page asks for it again and again while the rest of the page stays usable.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from explorer import limits, sandbox
from explorer.program import ProgramRefused
from explorer.sandbox import exit_reasons
from explorer.trace import Trace
from explorer.ui.server.live_run import end_live_run, reader
from explorer.ui.server.places import while_waiting
from explorer.ui.server.shared_cache import SharedCache
from explorer.ui.server.shared_call import SharedCall, join

#: The longest time in seconds that a page waits for a job, and the time between two looks at it.
WAIT, INTERVAL = 0.2, 0.25
#: So many times as long it waits for a program: without its trace, the page would be drawn twice.
PATIENCE = 3
#: How long a page that cannot go on waits before it says so.
QUIET = 0.5

_JOBS, _PAGE, _ARRIVED = "sandbox.jobs", "sandbox.page", "sandbox.arrived"


@dataclass
class Job:
    """A call of the sandbox that a reader waits for. `key` says what was asked, `label` what is
    being done; without a label nothing is shown. Only a `stoppable` one keeps what it did when it
    is stopped. `start` gives the call when it is first waited for after `starts`, a moment of
    time.monotonic()."""

    key: str
    label: str
    stoppable: bool
    start: Callable[[], SharedCall]
    starts: float = 0.0
    call: SharedCall | None = None
    stopping: bool = False
    #: Several runs of the page, each in a thread of its own, may look at one job.
    lock: Any = field(default_factory=threading.Lock)

    def wait(self, seconds: float, may_end: bool = True) -> bool:
        """Whether it is done, within so many seconds. A run of the page that is superseded ends
        here, if it may."""
        with self.lock:
            if self.call is None and time.monotonic() >= self.starts:
                self.call = self.start()
            call = self.call
        if call is None or call.done or not seconds:
            return call is not None and call.wait(0.0)
        with while_waiting(may_end):
            return call.wait(seconds)

    def result(self) -> Any:
        return self.call.result() if self.call is not None else None

    @property
    def stopped_by_another(self) -> bool:
        return self.call is not None and self.call.stopped and not self.stopping

    def stop(self) -> None:
        self.stopping = True
        with self.lock:
            if self.call is not None:
                self.call.stop()

    def cancel(self) -> None:
        """Nobody waits here any more: without other readers, the call ends. A result that is there
        stays: another run of the page may be about to read it."""
        with self.lock:
            self.starts = math.inf
            if self.call is not None and not self.call.done:
                self.call = None

    def describe(self) -> str:
        """How far it is, in words."""
        call = self.call
        if call is None or call.started is None:
            position = call.position if call is not None else 0
            return f"Waiting: number {position} in the queue" if position else "Starting"
        seconds, progress = f"{time.monotonic() - call.started:.0f} s", call.progress.latest
        if self.stopping:
            return f"Stopping · {seconds}"
        if progress is None:
            return f"{self.label} · {seconds}"
        if progress.stage:
            done = "" if progress.fraction is None else f", {progress.fraction:.0%}"
            return f"{progress.stage}{done} · {seconds}"
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
    rest: float = 0.0,
    patience: int = 1,
    shared: bool = False,
) -> Any:
    """The result of a job; None while it is under way. Raises ProgramRefused.

    `slot` names what the page needs it for, `key` what it depends on: another key in the same slot
    cancels the job before. `submit` is one of the functions of `explorer.sandbox` that return a
    Call; it is called after `rest` seconds, unless the job is cancelled by then. A new job is
    waited for, `patience` times for `WAIT`. After that `place` (by default a new one) shows how far
    it is, and the page is run again when it is done; then the result is the same until `forget`.
    With `shared`, all readers who ask for the same at the same time wait for one job: `key` then
    has to say everything it depends on.
    """
    place = place or st.empty()
    jobs = _jobs()
    job, waits = jobs.get(slot), 0
    own = partial(submit, reader=reader())
    if job is None or job.key != key:
        forget(slot)
        start = partial(SharedCall, own)
        if shared:
            start = partial(join, f"{slot} {key}", start)
        job = jobs[slot] = Job(key, label, stoppable, start, time.monotonic() + rest)
        waits = patience
    elif job.call is None and not rest:  # what was to wait is wanted now
        job.starts, waits = 0.0, patience
    try:
        if _wait(job, waits):
            if not job.stopped_by_another:
                return job.result()
            # Alone from now on: who stops what they share with others would stop this, too.
            jobs[slot] = replace(job, call=None, starts=0.0, start=partial(SharedCall, own))
        with place.container():
            _show(slot)
        return None
    except ProgramRefused:
        if _jobs().get(slot) is job:  # and not one that has replaced it
            forget(slot)
        raise


def _wait(job: Job, times: int) -> bool:
    """Wait for a job. In between, Streamlit ends a run of the page that is superseded."""
    for _ in range(times - 1):
        if job.wait(WAIT):
            return True
        _jobs()
    return job.wait(WAIT if times else 0.0)


def wait_for(submit: Callable[..., sandbox.Call[Any]], *, label: str, place: Any) -> Any:
    """The result of a job without which nothing more can be drawn. Raises ProgramRefused.

    `place`, an `st.empty()`, shows how far it is if it takes longer than a moment. If the whole
    page is run again meanwhile, Streamlit ends this run when the session is looked at next, which
    cancels the job.
    """
    start = partial(SharedCall, partial(submit, reader=reader()))
    job, until = Job("", label, False, start), time.monotonic() + QUIET
    shown = False
    try:
        while not job.wait(WAIT, may_end=False):  # an answer that is there is not thrown away
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


def enter_page(page: str) -> bool:
    """Cancel the jobs of the page that the reader has left; whether they come to this one only now.
    Called first on every page."""
    before = st.session_state.get(_PAGE)
    if before == page:
        return False
    st.session_state[_PAGE] = page
    st.session_state[_ARRIVED] = True
    if before is not None:
        forget_all()
    return True


def take_arrival() -> bool:
    """Whether the reader has come to this page since this was asked the last time."""
    return bool(st.session_state.pop(_ARRIVED, False))


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
    if job.call is not None and job.call.progress.output:
        printed = escape(job.call.progress.output)
        st.html(f'<pre class="ax-printed ax-newest">{printed}</pre>')


#: Traces are immutable, so all readers may share one.
_traces: SharedCache[Trace] = SharedCache(limits.KEPT_TRACES)


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
    arguments = {
        "seed": seed,
        "capture": capture,
        "upstream": upstream,
        "iteration": iteration,
        "inputs": dict(inputs or {}),
    }
    key = repr((source, arguments))
    place = st.empty()  # always there, so that what follows keeps its place on the page
    asked = f"{key} {seconds}"
    job = _jobs().get(slot)
    if afresh or (job is not None and job.key != asked):
        forget(slot)
        job = None
    trace = None if afresh or job is not None else _traces.get(key)
    if trace is not None:
        return trace
    longest = sandbox.options().seconds
    timeout = longest if seconds is None else min(seconds, longest)
    submit = partial(sandbox.submit_run, source, timeout=timeout, **arguments)
    label = "Running" if seconds is None else ""
    how: dict[str, Any] = {"stoppable": seconds is None, "patience": PATIENCE, "shared": True}
    trace = ask(slot, asked, submit, label=label, place=place, **how)
    if trace is None or _is_stopped(trace) or is_out_of_time(trace):
        return trace  # the slot keeps it
    forget(slot)
    if _decided_by_program(trace):
        _traces.put(key, trace)
    else:
        _traces.drop(key)
    return trace


def is_out_of_time(trace: Trace) -> bool:
    """Whether the program needs longer than it could run."""
    return trace.error is not None and exit_reasons.is_out_of_time(trace.error)


def _is_stopped(trace: Trace) -> bool:
    return trace.error is not None and trace.error.stopped


def _decided_by_program(trace: Trace) -> bool:
    """Whether the program alone decided the outcome, and not how busy the machine was."""
    return trace.error is None or trace.error.line is not None
