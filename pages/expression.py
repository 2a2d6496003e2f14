"""The Expression page: a program in, its graph and every gradient out."""

import streamlit as st

from explorer.trace.examples import EXAMPLES
from explorer.ui.common import table
from explorer.ui.common.downloads import downloads
from explorer.ui.common.editor import editor, line_clicks, mark_lines
from explorer.ui.common.errors import program_error
from explorer.ui.common.frame import draw_frame
from explorer.ui.common.graph import graph, legend
from explorer.ui.common.open_in_optimizer import step_program
from explorer.ui.common.sandbox_call import run
from explorer.ui.expression import lesson, panels, predict, program, walk
from explorer.ui.expression.answers import answers, example_of
from explorer.ui.expression.drawing import drawing, unfolding
from explorer.ui.expression.events_panel import events_panel
from explorer.ui.expression.gradient_check import check_panel, with_own_rules
from explorer.ui.expression.memory_panel import memory_panel
from explorer.ui.expression.selection import Picker
from explorer.ui.expression.tensor_panel import tensor_panel

draw_frame("expression")
left, right = (column.container(gap="xsmall") for column in st.columns([0.44, 0.56], gap="medium"))

with left:
    source, tools = editor(EXAMPLES)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        pressed = st.button(
            "Run",
            type="primary",
            icon=":material/play_arrow:",
            help="Runs the program, also one that has not changed. In the editor: Ctrl+Enter",
        )
        capture = program.capture_choice()
    trace = run(source, capture=capture, afresh=pressed)
    upstream = None
    if trace.needs_upstream:
        upstream = program.upstream_choice(trace.needs_upstream)
        trace = run(source, capture=capture, upstream=upstream, afresh=pressed)
    with tools:
        plan = lesson.teacher(trace)
    lesson.banner(plan)
    blind = not lesson.guess(plan, trace)
    trace = predict.hidden(trace) if blind else with_own_rules(trace, upstream)

with right:
    head = st.container(horizontal=True, vertical_alignment="center", gap="small")
    with head:
        shown = program.which_pass(trace)
    program.remarks(trace, shown)
    if shown:
        place, foot = st.container(), st.container(horizontal=True, vertical_alignment="center")
        key = foot.container(width="stretch")
        with foot:
            if not blind:
                step_program(trace)
        saved = foot.toggle(
            "Show saved values",
            key="saved",
            bind="query-params",
            help="Draws the values that operations keep for backward",
        )
        drawn = drawing(trace, shown, saved=saved)

with left if shown else right:  # what is said stands where there is room for it
    if trace.error:
        program_error(trace.error)
    answers(trace, None if blind or plan.question else example_of(source, EXAMPLES))
with left:
    program.printed(trace)
    program.torch_said(trace)

picker = Picker("expression", trace, shown, drawn.nodes if shown else ())
picked = picker.current()
if shown:
    with place:
        graph(
            drawn.dot,
            drawn.nodes,
            key="graph",
            head=head,
            marks=walk.marks(picked, shown, drawn.nodes),
            alt=f"Graph of the backward pass from {shown.root}",
            on_choose=picker.node,
        )
    with key:
        legend(drawn.dot)
    with right:
        unfolding(drawn, picked.node)
with head:
    downloads(trace, drawn.dot if shown else None, upstream, blind=blind)

mark_lines(error=trace.error.line if trace.error else None, selected=picked.line)
line_clicks(picker.line)

if trace.tensors:
    below = st.columns([0.44, 0.56], gap="medium", vertical_alignment="center")
    with below[0]:
        chosen = panels.switch(blind=blind)
    with below[1]:
        if shown:
            walk.bar(picker, picked, shown)
    if chosen == "tensors":
        table.table(
            table.TENSOR_COLUMNS,
            table.tensor_rows(trace.tensors, hidden=blind),
            key="tensors",
            label="Tensors of the program",
            total=len(trace.tensors),
            selected=picked.tensor.id if picked.tensor else None,
            on_choose=picker.tensor,
        )
    elif chosen == "step":
        walk.step_panel(picked, shown)
    elif chosen == "tensor":
        tensor_panel(trace, picker, picked)
    elif chosen == "events":
        events_panel(trace)
    elif chosen == "check":
        check_panel(trace, upstream)
    else:
        memory_panel(trace, lambda way: run(source, capture=way, upstream=upstream))
