"""The Expression page: a program in, its graph and every gradient out."""

import streamlit as st

import explorer.ui.server.early  # noqa: F401  (first)
from explorer.trace.examples import EXAMPLES
from explorer.ui.expression.answers import draw_explanations, draw_notices, try_explanations
from explorer.ui.expression.curve import draw_curve, draw_loss
from explorer.ui.expression.graph_panel import draw_graph_panel
from explorer.ui.expression.lesson import apply_lesson
from explorer.ui.expression.output import draw_output
from explorer.ui.expression.panels import draw_selection, follow
from explorer.ui.expression.program import run_program
from explorer.ui.widgets.basics import columns
from explorer.ui.widgets.editor import editor
from explorer.ui.widgets.frame import draw_frame
from explorer.ui.widgets.inputs import draw_handles

draw_frame("expression")
left, right = columns(0.4, 0.6)
below = st.container()

with left:
    source, toolbar = editor(EXAMPLES)
    tools = toolbar.container(horizontal=True, gap="xsmall", width="content")
    more = toolbar.popover("More", type="tertiary", key="more", help="Settings needed rarely")
    run, lesson = apply_lesson(run_program(source, more), more)
    error_place = draw_notices(run)
    draw_handles(run.trace, hidden=run.hidden)
    draw_curve(run)
    loss = st.container()
with right:
    graph = draw_graph_panel(run, tools, more)
with loss:
    draw_loss(run, graph)
is_shown = run.live or not run.running
with left if graph else right:  # explanations stand where there is room for them
    place = draw_explanations(run, lesson) if is_shown else None
output = left.container()
draw_selection(run, graph, below)
follow(run, graph)
if is_shown:
    with output:  # figures take longer than all other parts
        draw_output(run.trace)
    try_explanations(run, lesson, error_place, place)  # last: nothing waits for it
