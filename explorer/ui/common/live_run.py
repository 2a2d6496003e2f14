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

#: Frames one after another that may be too slow before a drag is no longer followed: the first may
#: have met a busy machine.
TRIES = 3

_KEY = "sandbox.live"


@dataclass
class _Drag:
    """The live run of a session, how many frames have failed since the last good one, and why it
    is no longer followed. It ends with the session's state, which alone holds it."""

    live: sandbox.LiveRun
    failed: int = 0
    error: ProgramError | None = None

    def fail(self, error: ProgramError) -> None:
        self.failed += 1
        if self.failed >= TRIES:
            self.error = error


def live_run(source: str, inputs: Mapping[str, Any] | None = None, **settings: Any) -> Trace | None:
    """What the program does with these values; see `explorer.run` for the settings.

    A frame that was too slow or ended its child has a Trace with the error; None after `TRIES` of
    them, until `end_live_run`.
    """
    drag = _drag()
    if drag.error is not None:
        return None
    try:
        trace = drag.live.run(source, inputs, **settings)
    except ProgramRefused as refused:
        drag.fail(refused.error)
        return Trace(source, error=refused.error)
    drag.failed = 0
    return trace


def live_call(job: str, request: Any) -> Any:
    """The plain answer of a job of `sandbox.live.JOBS`.

    Raises ProgramRefused for a frame that was too slow or ended its child, and for all after
    `TRIES` of them until `end_live_run`, with the same error.
    """
    drag = _drag()
    if drag.error is not None:
        raise ProgramRefused(drag.error)
    try:
        answer = drag.live.call(job, request)
    except ProgramRefused as refused:
        drag.fail(refused.error)
        raise
    drag.failed = 0
    return answer


def may_succeed_again() -> bool:
    """Whether the last frame failed, and the next may be a good one."""
    drag: _Drag | None = st.session_state.get(_KEY)
    return drag is not None and drag.failed > 0 and drag.error is None


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
