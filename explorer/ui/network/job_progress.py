"""Asking for a run, and what the reader sees until it is there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer.networks.error_messages import explain
from explorer.ui.common.widgets import refuse
from explorer.ui.network.job_queue import Job, JobQueue, Unwanted

#: Seconds a page may stand still for a result before it shows how far it is.
PATIENCE = 1.5


@cache
def job_queue() -> JobQueue:
    """The one line of jobs of this process."""
    return JobQueue()


def owner(slot: str) -> str:
    """Who waits: this reader, in this part of the page."""
    context = get_script_run_ctx()
    return f"{_present(context.session_id) if context else ''}:{slot}"


def _gone(reader: str) -> None:
    job_queue().gone(reader)


@st.cache_resource(scope="session", show_spinner=False, on_release=_gone)
def _present(reader: str) -> str:
    """Kept by Streamlit until the reader leaves; what this reader waits for is then given up."""
    return reader


def result(
    slot: str,
    key: str,
    make: Callable[[Job], Any],
    *,
    patience: float = PATIENCE,
    on_stop: Callable[[Job], None] | None = None,
) -> Any:
    """The result of `make`, or None while it is not there: progress is then shown, and the page
    runs again as soon as it is. What `make` raises is shown as a sentence.

    With `on_stop` the reader may stop it.
    """
    job = job_queue().ask(owner(slot), f"{slot} {key}", make)
    place = st.container()  # always there, so that what follows keeps its place on the page
    job.done.wait(patience)
    with place:
        if not job.done.is_set():
            _progress(slot, job, on_stop)
            return None
        if job.error is not None and not isinstance(job.error, Unwanted):
            refuse(sentence(job.error))
        return job.result


def sentence(error: Exception) -> str:
    """What went wrong; our own sentences as they are, torch's explained."""
    if isinstance(error, ValueError) and not error.__cause__:
        text = str(error).rstrip(".")
        return f"{text[:1].upper()}{text[1:]}."
    found = explain(error)
    return f"{found.message} {found.hint}".strip()


@st.fragment(run_every=0.4)
def _progress(slot: str, job: Job, on_stop: Callable[[Job], None] | None) -> None:
    if job.done.is_set():
        st.rerun()
    ahead = job_queue().ahead(job)
    words = f"Waiting: {ahead} before this one" if ahead else job.stage or "Starting"
    if on_stop is None:
        st.progress(job.share or 0.0, words)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(job.share or 0.0, words)
        if st.button(
            "Stop",
            key=f"stop-{slot}",
            icon=":material/stop:",
            help="Ends the run and keeps what there is",
        ):
            on_stop(job)
            job_queue().leave(owner(slot))
            st.rerun()
