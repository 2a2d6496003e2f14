"""Asking the sandbox to do a press on the reader's own problem."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer import sandbox

_PLACE = "steps.place"


def here() -> None:
    """Where on the page to say that the reader waits; called once per run, before anything."""
    st.session_state[_PLACE] = st.empty()


def ask(request: Any) -> Any:
    """Do the job "replay". Raises ProgramRefused."""
    context = get_script_run_ctx()
    place = st.session_state.get(_PLACE)

    def waiting(position: int) -> None:
        if place is not None:
            place.html(f'<div class="ax-note">Waiting: number {position} in the line.</div>')

    return sandbox.call(
        "replay",
        request,
        timeout=sandbox.options().seconds,
        reader=context.session_id if context else None,
        on_wait=waiting,
    )
