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
    arithmetic,
    charts,
    comparison_run,
    controls,
    custom_problem,
    exported_code,
    history,
    numbers,
    problems,
    sandbox_call,
    session,
    settings,
)

draw_frame("optimizer")
apply_styles("optimizer")
sandbox_call.here()
if problems.take_over():
    settings.begin()

top = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="settings")
below = st.container(horizontal=True, vertical_alignment="center", gap="small", key="options")
chosen = problems.choose(top, below, settings.begin)
with top:
    optimizer, hyper = settings.draw(chosen.offer)

space = session.open_session(chosen, optimizer, hyper)
refused = session.refusal()
event = space.event
if chosen.key == problems.OWN:
    custom_problem.mark(refused or (event.error if event else None))
elif chosen.note:
    below.html(f'<div class="ax-note">{escape(chosen.note)}</div>', width="stretch")
if refused:
    program_error(refused)
    note(session.instead(space, chosen))

controls.calls(space)
controls.outcome(space)

left, right = st.columns([0.4, 0.6], gap="medium")
with left, st.container(gap="xsmall"):
    with st.container(horizontal=True, gap="small"):
        way = comparison_run.way()
        at = numbers.choose(space.view)
    choice = comparison_run.setting(way)
    second = None
    try:
        second = comparison_run.follow(space, choice)
    except ProgramRefused as wrong:
        program_error(wrong.error)
    except ValueError as wrong:
        st.html(f'<div class="ax-error" role="alert">{escape(str(wrong))}</div>')
    numbers.numbers(space.view, space.before, second[0] if second else None, at)
    arithmetic.arithmetic(space, at)

with right, st.container(gap="xsmall"):
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        history.follow_present(space)
        history.play_button(space)
        what, pair = charts.tools(space)
        exported_code.code_button(space)
    draw = st.fragment(charts.pictures, run_every=history.PLAYER.interval)
    draw(space, what, pair, second, comparison_run.NAMES[way])

with below:
    query_params.report_invalid(seed=space.view.seed)
controls.go_on(space)
