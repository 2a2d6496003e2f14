"""Frames of a drag: this session's program, again and again in one child (`sandbox.LiveRun`).

Nothing is cached: the next frame replaces the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer import sandbox
from explorer.language import ProgramError, ProgramRefused
from explorer.trace import Trace

_KEY = "sandbox.live"


@dataclass
class _Drag:
    """The live run of a session, and why it follows no more. It ends with the session's state,
    which alone holds it."""

    live: sandbox.LiveRun
    error: ProgramError | None = None


def live_run(source: str, inputs: Mapping[str, Any] | None = None, **settings: Any) -> Trace | None:
    """What the program does with these values; see `explorer.run` for the settings.

    None after a frame that was too slow or ended its child, until `end_live_run`: the Trace of that
    frame holds the error.
    """
    drag = _drag()
    if drag.error is not None:
        return None
    try:
        return drag.live.run(source, inputs, **settings)
    except ProgramRefused as refused:
        drag.error = refused.error
        return Trace(source, error=refused.error)


def live_call(job: str, request: Any) -> Any:
    """The plain answer of a job of `sandbox.live.JOBS`.

    Raises ProgramRefused for a frame that was too slow or ended its child, and for all after it
    until `end_live_run`, with the same error.
    """
    drag = _drag()
    if drag.error is not None:
        raise ProgramRefused(drag.error)
    try:
        return drag.live.call(job, request)
    except ProgramRefused as refused:
        drag.error = refused.error
        raise


def _drag() -> _Drag:
    drag: _Drag | None = st.session_state.get(_KEY)
    if drag is None:
        drag = st.session_state[_KEY] = _Drag(sandbox.submit_live(reader()))
    return drag


def end_live_run() -> None:
    """The reader has let go, or has left the page: end the child."""
    drag: _Drag | None = st.session_state.pop(_KEY, None)
    if drag is not None:
        drag.live.close()


def reader() -> str | None:
    """The reader's name for the sandbox."""
    context = get_script_run_ctx()
    return context.session_id if context else None
