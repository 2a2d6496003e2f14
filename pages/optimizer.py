"""The Optimizer page: the four calls, pressed one by one, and what they do to each number."""

import streamlit as st

import explorer.ui.server.early  # noqa: F401  (first)
from explorer.ui.optimizer import (
    charts,
    controls,
    downloads,
    live,
    more,
    numbers,
    problems,
    runs,
    session,
    settings,
    sliders,
)
from explorer.ui.optimizer.link import run_in_link
from explorer.ui.optimizer.surface import draw_surface
from explorer.ui.widgets.basics import note, program_error
from explorer.ui.widgets.frame import draw_frame
from explorer.ui.widgets.lesson_strip import see
from explorer.ui.widgets.query_params import report_invalid

draw_frame("optimizer")
session.reserve_place()
problems.take_sent_problem()

# What is trained, how, and what is shown of it: the page runs again when one of these changes.
top = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="settings")
options = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="options")
chosen = problems.choose_problem(top, options)
with top:
    optimizer = settings.choose_optimizer(
        "Optimizer", "optimizer", "How step() turns gradients into changes. Begins a new run."
    )

workspace = session.open_session(chosen, optimizer)
with top:
    more.draw_more(workspace)
    compared = runs.choose_runs(workspace)
    downloads.draw_downloads(workspace)
    problems.draw_question(chosen)
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
    see(losses=tuple(workspace.view.track.loss.values))
    all_runs, troubles, behind = runs.follow(workspace, compared)
    sliders.draw_sliders(workspace)
    draw_surface(workspace, all_runs)
    charts.draw_fit(workspace)
    charts.draw_loss(all_runs)
    controls.draw_calls(workspace)
    controls.draw_sentences(workspace)
    report_invalid(
        seed=workspace.view.seed,
        compare=runs.describe(compared),
        **settings.flatten(workspace.chosen_hyper),
    )
    if troubles:
        note(" ".join(troubles))
    picked = numbers.choose_parameter(workspace.view)
    numbers.draw_numbers(
        workspace.view,
        workspace.before,
        all_runs[1].view if len(all_runs) == 2 else None,
        picked,
        run_in_link(workspace),
    )
    numbers.draw_update(workspace, picked)
    charts.draw_graph(workspace.view)
    charts.draw_curves(workspace, all_runs, behind)


with st.container(key="desk"):
    draw_workspace()
live.follow_hand(workspace)
