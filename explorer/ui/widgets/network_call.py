"""Runs of the project's networks in the app: one thread computes them one after another for all
readers.

A large network keeps every core busy for seconds: two at a time would be slower than one after the
other. A run is computed once, however many readers wait for it, and a reader's page shows progress
meanwhile. As a call of the sandbox, it ends with the last reader who waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any

import streamlit as st

from explorer import limits
from explorer.networks.error_messages import explain
from explorer.networks.runs import Abandoned
from explorer.ui.server.places import while_waiting
from explorer.ui.server.shared_cache import SharedCache
from explorer.ui.server.shared_call import join
from explorer.ui.widgets.basics import refuse

#: Seconds that a page waits for a result before it shows progress.
PATIENCE = 1.5

_CALLS = "network.calls"


class NetworkJob:
    """The `explorer.networks.runs.Job` of a run here: `stage` and `fraction` (0 to 1, None if not
    known) say how far it is, `parts` are its results so far."""

    def __init__(self) -> None:
        self.stage = ""
        self.fraction: float | None = None
        self.parts: list[Any] = []
        self.wanted = True

    def report(self, stage: str, fraction: float | None = None) -> None:
        self.stage, self.fraction = stage, fraction


_thread = ThreadPoolExecutor(1, thread_name_prefix="networks")
#: The jobs that wait, in their order, after the one under way. Changed without a lock, as a call
#: may be freed anywhere.
_queue: dict[NetworkJob, None] = {}
#: Results are immutable, so readers can share them; nothing else holds them, so this is what they
#: take. In a list, since a result may be None.
_finished: SharedCache[list[Any]] = SharedCache(limits.KEPT_NETWORK_RESULTS)


class NetworkCall:
    """A run that waits, is under way or has finished. It is given up once nobody holds it."""

    stopped = False

    def __init__(self, key: str, make: Callable[[NetworkJob], Any]) -> None:
        self.job = job = NetworkJob()
        _queue[job] = None
        self._key = key
        self._future: Future[None] = _thread.submit(_perform, key, job, make)
        self._future.add_done_callback(lambda _: _forget(job))

    @property
    def done(self) -> bool:
        return self._future.done()

    def wait(self, seconds: float) -> bool:
        """Whether it is done, within so many seconds."""
        return bool(wait_for([self._future], seconds).done)

    def result(self) -> list[Any] | None:
        """What the run has made, in a list, or raises; None if it is no longer kept."""
        self._future.result()
        return _finished.get(self._key)

    def count_ahead(self) -> int:
        """How many runs will be finished before this one starts."""
        waiting = list(_queue)
        return waiting.index(self.job) if self.job in waiting else 0

    def __del__(self) -> None:
        self.stopped = True  # so that nobody joins it any more
        self.job.wanted = False
        self._future.cancel()


def _perform(key: str, job: NetworkJob, make: Callable[[NetworkJob], Any]) -> None:
    _finished.put(key, [make(job)])


def _forget(job: NetworkJob) -> None:
    """It has finished: the session of a reader who has left the page may hold it for hours."""
    _queue.pop(job, None)
    job.parts = []


def count_waiting() -> int:
    """How many runs wait until the one under way has finished."""
    return max(0, len(_queue) - 1)


def _calls() -> dict[str, tuple[str, NetworkCall]]:
    """What this reader waits for, by the part of the page that needs it, and what was asked."""
    calls: dict[str, tuple[str, NetworkCall]] = st.session_state.setdefault(_CALLS, {})
    return calls


def leave(slot: str) -> None:
    """This reader no longer waits for what `await_result` was asked in a slot."""
    _calls().pop(slot, None)


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
    `make` raises is shown as a sentence. With `on_stop` the reader may stop it. A reader waits for
    one run in a slot: another key gives the one before up.
    """
    key = f"{slot} {key}"
    if (finished := _finished.get(key)) is not None:
        leave(slot)
        return finished[0]
    calls = _calls()
    asked, call = calls.get(slot, ("", None))
    if call is None or asked != key:
        leave(slot)
        call = join(key, lambda: NetworkCall(key, make))
        calls[slot] = key, call
    place = st.container()  # always drawn, so that what follows keeps its place on the page
    with while_waiting():
        call.wait(patience)
    with place:
        if not call.done:
            _draw_progress(slot, on_stop)
            return None
        leave(slot)
        try:
            finished = call.result()
        except (Abandoned, CancelledError):
            return None
        except Exception as error:
            refuse(_explain(error))
            return None
        if finished is None:  # nobody has asked for it for too long
            st.rerun()
        return finished[0]


def _explain(error: Exception) -> str:
    """What went wrong: our own sentences as they are, torch's explained."""
    if isinstance(error, ValueError) and not error.__cause__:
        text = str(error).rstrip(".")
        return f"{text[:1].upper()}{text[1:]}."
    explained = explain(error)
    return f"{explained.message} {explained.hint}".strip()


@st.fragment(run_every=0.4)
def _draw_progress(slot: str, on_stop: Callable[[NetworkJob], None] | None) -> None:
    _, call = _calls().get(slot, ("", None))
    if call is None:
        return
    if call.done:
        st.rerun()
    job, ahead = call.job, call.count_ahead()
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
            if not call.done:  # else there is a result
                on_stop(job)
                leave(slot)
            st.rerun()
