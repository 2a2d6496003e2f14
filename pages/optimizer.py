"""The Optimizer page: the four calls, pressed one by one, and what they do to each number."""

from html import escape

import streamlit as st

from explorer.language import ProgramRefused
from explorer.ui.common import query_params
from explorer.ui.common.errors import program_error
from explorer.ui.common.frame import draw_frame
from explorer.ui.common.layout import apply_styles
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
apply_styles("optimizer")
session.reserve_place()
if problems.take_sent_problem():
    settings.reset_settings()

# What is trained, and how.
top = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="settings")
options = st.container(horizontal=True, vertical_alignment="center", gap="small", key="options")
chosen = problems.choose_problem(top, options, settings.reset_settings)
with top:
    optimizer, hyper = settings.choose_settings(chosen.offer)

workspace = session.open_session(chosen, optimizer, hyper)
refused = session.refusal()
if chosen.key == problems.OWN:
    problems.mark_line(refused or (workspace.event.error if workspace.event else None))
elif chosen.note:
    options.html(f'<div class="ax-note">{escape(chosen.note)}</div>', width="stretch")
if refused:
    program_error(refused)
    note(session.explain_fallback(workspace, chosen))

controls.draw_calls(workspace)
controls.draw_outcome(workspace)

left, right = st.columns([0.4, 0.6], gap="medium")
with left, st.container(gap="xsmall"):
    with st.container(horizontal=True, gap="small"):
        comparison = comparison_run.choose_comparison()
        picked = numbers.choose_parameter(workspace.view)
    choice = comparison_run.choose_setting(comparison)
    second = None
    try:
        second = comparison_run.follow(workspace, choice)
    except ProgramRefused as refused_second:
        program_error(refused_second.error)
    except ValueError as error:
        st.html(f'<div class="ax-error" role="alert">{escape(str(error))}</div>')
    numbers.draw_numbers(workspace.view, workspace.before, second[0] if second else None, picked)
    numbers.draw_update(workspace, picked)

with right, st.container(gap="xsmall"):
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        history.follow_present(workspace)
        history.play_button(workspace)
        picture, axes = charts.choose_picture(workspace)
        controls.draw_code_button(workspace)
    draw = st.fragment(charts.draw_charts, run_every=history.PLAYER.interval)
    draw(workspace, picture, axes, second, comparison_run.NAMES[comparison])

with options:
    query_params.report_invalid(seed=workspace.view.seed)
controls.continue_run(workspace)
