"""The backward pass, node by node: buttons, a slider, and the rule of the step. A playback goes
through it by itself.
"""

from __future__ import annotations

import time
from functools import partial

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer.trace import BackwardPass
from explorer.ui.expression.selection import Picker
from explorer.ui.widgets.basics import formula
from explorer.view import step
from explorer.view.rule_names import named_rule
from explorer.view.walk import Selection

#: In the session: whether operations are called as autograd does.
TORCH_NAMES = "names"
#: How long a step is shown while the walk plays, in seconds.
_SECONDS = 1.2
#: In the session: whether it plays, and when it went on for the last time.
_PLAYING, _MOVED = "walk.playing", "walk.moved"


def draw_walk(picker: Picker, picked: Selection, shown: BackwardPass) -> None:
    """Draw buttons and a slider over the steps, and the rule of the chosen step below them. 0 is
    before the first. All are parts of the fragment that shows the selection."""
    last = len(shown.steps)
    if not last:
        return
    now = 0 if picked.step is None else picked.step + 1
    ended = _is_playing() and now == last
    if ended:
        st.session_state[_PLAYING] = False
    go = partial(_go, picker)

    def slid() -> None:
        number = st.session_state["walk-slider"]
        if number != now:  # a slider whose range changed reports its old value again
            go(number)

    def toggled() -> None:
        st.session_state[_PLAYING] = not _is_playing()
        st.session_state[_MOVED] = time.monotonic()
        if _is_playing():
            go(1 if now == last else now + 1)

    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="walk"):
        st.button(
            "Previous step",
            icon=":material/chevron_left:",
            key="walk-previous",
            type="tertiary",
            on_click=go,
            args=(now - 1,),
            disabled=now == 0,
        )
        st.button(
            "Next step",
            icon=":material/chevron_right:",
            key="walk-next",
            type="tertiary",
            on_click=go,
            args=(now + 1,),
            disabled=now == last,
        )
        pressed = st.button(
            "Pause" if _is_playing() else "Play",
            icon=":material/pause:" if _is_playing() else ":material/play_arrow:",
            key="walk-play",
            type="tertiary",
            on_click=toggled,
        )
        st.session_state["walk-slider"] = now
        st.slider(
            "Step of the backward pass",
            0,
            last,
            now,  # without it Streamlit looks through the whole session for a value
            key="walk-slider",
            label_visibility="collapsed",
            help="Moves through the backward pass node by node; 0 is before the first",
            on_change=slid,
        )
        st.html(f'<div class="ax-note">{step.progress(now, shown)}</div>', width="content")
    if picked.step is not None:
        chosen = shown.steps[picked.step]
        rule = named_rule(chosen, shown)
        with st.container(key="local-rule"):
            names = bool(st.session_state.get(TORCH_NAMES))
            st.html(step.rule_html(chosen, shown, letters=rule.letters, torch_names=names))
            formula(rule.formula, rule.numbers)
    if pressed or ended:
        st.rerun()  # the whole page, which starts or stops the timer


def play_on(picker: Picker) -> None:
    """Go to the next step if the walk plays and it is due.

    A fragment runs with every run of the page, and whenever a widget in it changes: only a run by
    the timer goes on, so only if the last step was long enough ago.
    """
    context = get_script_run_ctx()
    if not _is_playing() or context is None or not context.fragment_ids_this_run:
        return
    if time.monotonic() - st.session_state.get(_MOVED, 0.0) < _SECONDS / 2:
        return
    st.session_state[_MOVED] = time.monotonic()
    now = picker.current().step
    _go(picker, 1 if now is None else now + 2)


def interval() -> float | None:
    """What `st.fragment` takes as `run_every`."""
    return _SECONDS if _is_playing() else None


def _is_playing() -> bool:
    return bool(st.session_state.get(_PLAYING))


def _go(picker: Picker, number: int) -> None:
    """Go to a step, counted from 1."""
    picker.step(number - 1)
