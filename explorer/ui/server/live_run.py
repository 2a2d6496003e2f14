"""Frames of a drag: this session's program, again and again in one child (`sandbox.LiveRun`).

Nothing is cached: the next frame replaces the last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer import sandbox
from explorer.program import ProgramError, ProgramRefused
from explorer.trace import Trace

#: So many frames one after another may fail before the drag rests: the first may have met a busy
#: machine.
TRIES = 3
#: Seconds of the first rest; each further failure doubles it, so a program that is always too slow
#: costs little, and a drag on a machine that was busy for a while is followed again.
REST = 2.0

_KEY = "sandbox.live"


@dataclass
class _Drag:
    """The live run of a session, how many frames have failed since the last good one, why the last
    did, and until when none is run. It ends with the session's state, which alone holds it."""

    live: sandbox.LiveRun
    failed: int = 0
    error: ProgramError | None = None
    rests_until: float = 0.0

    @property
    def rest(self) -> float:
        """For how many seconds no frame is run from now on."""
        return max(0.0, self.rests_until - time.monotonic())

    def fail(self, error: ProgramError) -> None:
        self.failed += 1
        self.error = error
        if self.failed >= TRIES:
            self.rests_until = time.monotonic() + REST * 2 ** (self.failed - TRIES)


def live_run(source: str, inputs: Mapping[str, Any] | None = None, **arguments: Any) -> Trace:
    """What the program does with these values; see `explorer.run` for the arguments. Where
    `live_call` would raise, the Trace has the error."""
    try:
        trace: Trace = _frame(lambda live: live.run(source, inputs, **arguments))
    except ProgramRefused as refused:
        return Trace(source, error=refused.error)
    return trace


def live_call(job: str, request: Any) -> Any:
    """The plain answer of a job of `sandbox.live.JOBS`.

    Raises ProgramRefused for a frame that was too slow or ended its child, and with the same error
    while the drag rests, after `TRIES` of them.
    """
    return _frame(lambda live: live.call(job, request))


def _frame(ask: Callable[[sandbox.LiveRun], Any]) -> Any:
    """What this session's live run answers. Raises ProgramRefused."""
    drag = _drag()
    if drag.rest and drag.error is not None:
        raise ProgramRefused(drag.error)
    try:
        answer = ask(drag.live)
    except ProgramRefused as refused:
        drag.fail(refused.error)
        raise
    drag.failed = 0
    return answer


def seconds_until_next_try() -> float | None:
    """When the frame that failed may be asked again; None if none did."""
    drag: _Drag | None = st.session_state.get(_KEY)
    return drag.rest if drag is not None and drag.failed else None


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
