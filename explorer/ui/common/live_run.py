"""Frames of a drag: this session's program, run again and again in one child (`sandbox.LiveRun`).

Nothing is cached: the next frame replaces the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer import sandbox
from explorer.language import ProgramRefused
from explorer.trace import Trace

_KEY = "sandbox.live"


@dataclass
class _Drag:
    """The live run of a session. It ends with the session's state, which alone holds it."""

    live: sandbox.LiveRun
    is_over: bool = False


def live_run(source: str, inputs: Mapping[str, Any] | None = None, **settings: Any) -> Trace | None:
    """What the program does with these values; see `explorer.run` for the settings.

    None after a frame that was too slow or ended its child, until `end_live_run`: the Trace of that
    frame holds the error.
    """
    drag: _Drag | None = st.session_state.get(_KEY)
    if drag is None:
        drag = st.session_state[_KEY] = _Drag(sandbox.submit_live(reader()))
    if drag.is_over:
        return None
    try:
        return drag.live.run(source, inputs, **settings)
    except ProgramRefused as refused:
        drag.is_over = True
        return Trace(source, error=refused.error)


def end_live_run() -> None:
    """The reader has let go, or has left the page: end the child."""
    drag: _Drag | None = st.session_state.pop(_KEY, None)
    if drag is not None:
        drag.live.close()


def reader() -> str | None:
    """The reader's name for the sandbox."""
    context = get_script_run_ctx()
    return context.session_id if context else None
