"""Playing a sequence on a timer: whether it plays, the button, and when the next frame is due."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx


@dataclass(frozen=True)
class Player:
    """One sequence that plays. `key` names it in the session; a frame lasts `seconds`.

    The parts of a page that move run as a fragment every `interval` seconds. A fragment also runs
    with every run of the page, which `is_due` tells from the timer's, and whenever a widget in it
    changes, where `is_due` only looks at the time since the last frame.
    """

    key: str
    seconds: float

    @property
    def playing(self) -> bool:
        return bool(st.session_state.get(f"{self.key}.playing"))

    @property
    def interval(self) -> float | None:
        """What `st.fragment` takes as `run_every`."""
        return self.seconds if self.playing else None

    def stop(self) -> None:
        st.session_state[f"{self.key}.playing"] = False

    def button(
        self,
        start: str,
        stop: str,
        *,
        help: str = "",
        type: Literal["secondary", "tertiary"] = "secondary",
        disabled: bool = False,
        on_start: Callable[[], None],
    ) -> bool:
        """Draw the button that plays (labelled `start`) or stops; `on_start` chooses the first
        frame. Returns whether it was pressed: a fragment that plays must be drawn again with its
        page, which starts or stops the timer."""
        icon, text = ("pause", stop) if self.playing else ("play_arrow", start)
        return st.button(
            text,
            icon=f":material/{icon}:",
            help=help or text,
            key=f"{self.key}-play",
            type=type,
            on_click=self._toggle,
            args=(on_start,),
            disabled=disabled,
        )

    def is_due(self) -> bool:
        """Whether it is time for the next frame; counts from now if so."""
        context = get_script_run_ctx()
        if not self.playing or context is None or not context.fragment_ids_this_run:
            return False
        moved = st.session_state.get(f"{self.key}.moved", 0.0)
        if time.monotonic() - moved < self.seconds / 2:
            return False
        st.session_state[f"{self.key}.moved"] = time.monotonic()
        return True

    def _toggle(self, on_start: Callable[[], None]) -> None:
        st.session_state[f"{self.key}.playing"] = not self.playing
        st.session_state[f"{self.key}.moved"] = time.monotonic()
        if self.playing:
            on_start()
