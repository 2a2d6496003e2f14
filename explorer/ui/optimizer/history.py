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
#: A replay has about this many frames.
FRAMES = 60


def follow_present(workspace: Workspace) -> None:
    """After a press the present is shown again. Called once per run of the page."""
    state = st.session_state
    if state.get(_OF) != (id(workspace), workspace.version):
        state[_OF] = (id(workspace), workspace.version)
        state[_MOMENT] = len(workspace.points()) - 1
        PLAYER.stop()


def play_button(workspace: Workspace) -> None:
    """Draw the button that plays the run from the slider's position or its start, or pauses it."""
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


def advance(last: int) -> None:
    """While playing: show the next frame, if it is due; stop at the end."""
    if not PLAYER.is_due():
        return
    state = st.session_state
    state[_MOMENT] = min(last, state.get(_MOMENT, 0) + -(-last // FRAMES))
    if state[_MOMENT] >= last:
        PLAYER.stop()
        st.rerun()


def slider(points: tuple[Point, ...]) -> int:
    """Draw the slider; returns the position in `points` that is shown."""
    last = len(points) - 1
    if last < 1:
        st.html('<div class="ax-note">Each forward adds a point to this slider.</div>')
        return last
    st.session_state[_MOMENT] = min(st.session_state.get(_MOMENT, last), last)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="moments"):
        moment = int(
            st.slider(
                "History",
                0,
                last,
                key=_MOMENT,
                label_visibility="collapsed",
                width="stretch",
                help="The point in the run that the charts show",
            )
        )
        st.html(f'<div class="ax-note">{_caption(points[moment])}</div>', width="content")
    return moment


def _caption(point: Point) -> str:
    """The number of steps, and the first numbers of a small problem."""
    shown = [
        f"{name} = {format_number(value.item())}"
        for name, value in point.values.items()
        if value.size == 1 and value.dtype.kind == "f" and name.isidentifier()
    ]
    values = f": {', '.join(shown)}" if 0 < len(shown) <= 2 else ""
    return f"after step {point.steps:,}{values}"
