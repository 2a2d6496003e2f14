"""The Optimizer page: the four calls, pressed one by one, and what they do to each number."""

from html import escape

import streamlit as st

from explorer.language import ProgramRefused
from explorer.ui.common.errors import program_error
from explorer.ui.common.frame import draw_frame
from explorer.ui.common.query_params import report_invalid
from explorer.ui.common.widgets import note
from explorer.ui.optimizer import (
    charts,
    comparison_run,
    controls,
    history,
    numbers,
    problems,
    session,
    settings,
)

draw_frame("optimizer")
session.reserve_place()
if problems.take_sent_problem():
    settings.reset_settings()

# What is trained, how, and what is shown of it: the page runs again when one of these changes.
top = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="settings")
options = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="options")
chosen = problems.choose_problem(top, options, settings.reset_settings)
with top:
    optimizer, hyper = settings.choose_settings(chosen.offer)

workspace = session.open_session(chosen, optimizer, hyper)
with options:
    comparison = comparison_run.choose_comparison()
    picture, axes = charts.choose_picture(workspace)
    controls.choose_zeros()
    controls.draw_code_button(workspace)
    if chosen.note and chosen.key != problems.OWN:
        st.html(f'<div class="ax-note">{escape(chosen.note)}</div>', width="stretch")
if refused := session.refusal():
    program_error(refused)
    note(session.explain_fallback(workspace, chosen))


@st.fragment
def draw_workspace() -> None:
    """Draw all that a press changes. Only this part of the page runs again after one, and for each
    picture of a run or a playback. Every element here is a message per press, so they are few."""
    session.catch_up(workspace)
    if chosen.key == problems.OWN:
        problems.mark_line(refused or (workspace.event.error if workspace.event else None))
    second, trouble = None, None
    try:
        second = comparison_run.follow(workspace, comparison)
    except ProgramRefused as refused_second:
        trouble = refused_second.error

    controls.draw_calls(workspace)
    with st.container(gap="xsmall", key="left"):
        report_invalid(seed=workspace.view.seed)
        if trouble:
            program_error(trouble)
        picked = numbers.choose_parameter(workspace.view)
        numbers.draw_numbers(
            workspace.view, workspace.before, second[0] if second else None, picked
        )
        numbers.draw_update(workspace, picked)
    moment = history.moment(workspace)
    charts.draw_charts(workspace, picture, axes, moment, second, comparison.name)
    history.draw_player(workspace)


with st.container(key="desk"):
    draw_workspace()
