"""Which step of the run the charts show: a slider through the history, played or moved by hand."""

from __future__ import annotations

import streamlit as st

from explorer.training import Point
from explorer.training.formatting import format_number
from explorer.ui.common.player import Player
from explorer.ui.optimizer.session import Workspace

_MOMENT, _OF = "moment", "moment.of"
#: Plays the history, five frames a second.
PLAYER = Player("moment", 0.2)
#: Seconds between the pictures of a run.
PAUSE = 0.1
#: A replay has about this many frames.
FRAMES = 60


def moment(workspace: Workspace) -> int:
    """The position in `workspace.points()` that is shown: after a press the present, while playing
    the next one, otherwise where the slider stands. Called once, before `draw_player`."""
    state, last = st.session_state, len(workspace.points()) - 1
    if state.get(_OF) != (id(workspace), workspace.version):
        state[_OF] = (id(workspace), workspace.version)
        state[_MOMENT] = last
        PLAYER.stop()
    elif PLAYER.is_due():
        state[_MOMENT] = state.get(_MOMENT, 0) + -(-last // FRAMES)
    state[_MOMENT] = shown = min(state.get(_MOMENT, last), last)
    if shown == last:
        PLAYER.stop()
    return int(shown)


def interval(workspace: Workspace) -> float | None:
    """Seconds until the charts must be drawn again; None if nothing moves."""
    return PAUSE if workspace.run is not None else PLAYER.interval


def draw_player(workspace: Workspace) -> None:
    """Draw the button that plays the run from the slider's position or its start, and the
    slider."""
    last = len(workspace.points()) - 1

    def begin_again() -> None:
        if st.session_state.get(_MOMENT, 0) >= last:
            st.session_state[_MOMENT] = 0

    PLAYER.button(
        "Play",
        "Pause",
        help="Replays the run so far, or pauses",
        disabled=last < 1 or workspace.run is not None,
        on_start=begin_again,
    )
    if last < 1:
        st.html('<div class="ax-note">Each forward adds a point to this slider.</div>')
        return
    st.slider(
        "History",
        0,
        last,
        key=_MOMENT,
        label_visibility="collapsed",
        help="The point in the run that the charts show",
    )


def describe(point: Point) -> str:
    """The number of steps, and the first numbers of a small problem."""
    shown = [
        f"{name} = {format_number(value.item())}"
        for name, value in point.values.items()
        if value.size == 1 and value.dtype.kind == "f" and name.isidentifier()
    ]
    values = f": {', '.join(shown)}" if 0 < len(shown) <= 2 else ""
    return f"after step {point.steps:,}{values}"
