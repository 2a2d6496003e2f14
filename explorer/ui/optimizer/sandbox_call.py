"""Asking the sandbox to replay the reader's own problem."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer import sandbox
from explorer.ui.common import sandbox_call

_PLACE = "steps.place"


def here() -> None:
    """Where on the page to say that the reader waits; called once per run, before anything."""
    st.session_state[_PLACE] = st.empty()


def ask(request: Any) -> Any:
    """Do the job "replay". Raises ProgramRefused."""
    place = st.session_state.get(_PLACE) or st.empty()
    timeout = sandbox.options().seconds
    return sandbox_call.ask(sandbox.call, "replay", request, timeout=timeout, place=place)
