"""Which moment of the run the pictures show: a slider through history, played or moved by hand."""

from __future__ import annotations

import time

import streamlit as st

from explorer.training import Point
from explorer.training.numbers import in_words
from explorer.ui.optimizer.workspace import Workspace

_MOMENT, _OF, _PLAYING, _MOVED = "moment", "moment.of", "moment.playing", "moment.moved"
#: Seconds a frame stands; a replay has about this many frames.
PACE, FRAMES = 0.2, 60


def follow_present(space: Workspace) -> None:
    """After a press the present is shown again. Called once per run of the page."""
    state = st.session_state
    if state.get(_OF) != (id(space), space.version):
        state[_OF] = (id(space), space.version)
        state[_MOMENT] = len(space.points()) - 1
        state[_PLAYING] = False


def playing() -> bool:
    return bool(st.session_state.get(_PLAYING))


def play_button(space: Workspace) -> None:
    """Play the run from where the slider stands, or from its start; or pause."""
    last = len(space.points()) - 1
    state = st.session_state

    def toggle() -> None:
        state[_PLAYING] = not playing()
        state[_MOVED] = time.monotonic()
        if playing() and state.get(_MOMENT, 0) >= last:
            state[_MOMENT] = 0

    icon, text = ("pause", "Pause") if playing() else ("play_arrow", "Play")
    st.button(
        text,
        icon=f":material/{icon}:",
        help="Goes through the run so far, or stops there",
        key="moment-play",
        on_click=toggle,
        disabled=last < 1 or space.run is not None,
    )


def advance(last: int) -> None:
    """While playing: the next frame, if it is time; at the end, stop. Runs with every run of the
    page too, but only the clock's own runs move on."""
    state = st.session_state
    if not playing() or time.monotonic() - state.get(_MOVED, 0.0) < PACE / 2:
        return
    state[_MOVED] = time.monotonic()
    state[_MOMENT] = min(last, state.get(_MOMENT, 0) + -(-last // FRAMES))
    if state[_MOMENT] >= last:
        state[_PLAYING] = False
        st.rerun()


def slider(points: tuple[Point, ...]) -> int:
    """The place in `points` that is shown."""
    last = len(points) - 1
    if last < 1:
        st.html('<div class="ax-note">Each forward adds a moment to go back to here.</div>')
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
                help="Which moment of the run the pictures show",
            )
        )
        st.html(f'<div class="ax-note">{_words(points[moment])}</div>', width="content")
    return moment


def _words(point: Point) -> str:
    """The number of steps, and the first numbers of a small problem."""
    shown = [
        f"{name} = {in_words(value.item())}"
        for name, value in point.values.items()
        if value.size == 1 and value.dtype.kind == "f" and name.isidentifier()
    ]
    values = f": {', '.join(shown)}" if 0 < len(shown) <= 2 else ""
    return f"after step {point.steps:,}{values}"
