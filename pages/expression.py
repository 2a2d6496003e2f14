"""The Expression page: a program in, its graph and every gradient out."""

import streamlit as st

from explorer.trace.examples import EXAMPLES
from explorer.ui import frame, program, tables
from explorer.ui.detail import detail
from explorer.ui.drawing import drawing, unfolding
from explorer.ui.editor import editor, mark_lines
from explorer.ui.errors import program_error
from explorer.ui.graph_view import Marks, graph, legend
from explorer.ui.running import run
from explorer.ui.selection import Picker

frame.page("expression")
left, right = st.columns([0.44, 0.56], gap="medium")

with left:
    source = editor(EXAMPLES)
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Run", type="primary", icon=":material/play_arrow:")
        st.html('<div class="ax-note">Non-leaf gradients by</div>', width="content")
        capture = program.capture_choice()
    trace = run(source, capture=capture, afresh=pressed)
    if trace.needs_upstream:
        upstream = program.upstream_choice(trace.needs_upstream)
        trace = run(source, capture=capture, upstream=upstream, afresh=pressed)
    program.answer(source, EXAMPLES)
    program.printed(trace)
    program.answers(trace)
    program.torch_said(trace)

with right:
    if trace.error:
        program_error(trace.error)
    head = st.container(horizontal=True, vertical_alignment="center")
    with head:
        shown = program.which_pass(trace)
    program.remarks(trace, shown)
    if shown:
        place, foot = st.container(), st.container(horizontal=True, vertical_alignment="center")
        key = foot.container(width="stretch")
        saved = foot.toggle("Saved tensors", key="saved", bind="query-params")
        drawn = drawing(trace, shown, saved=saved)
    picker = Picker("expression", trace, drawn.nodes if shown else ())
    picked = picker.current()
    if shown:
        with place:
            graph(
                drawn.dot,
                drawn.nodes,
                key="graph",
                head=head,
                marks=Marks(selected=picked.node.id if picked.node else None),
                alt=f"Graph of the backward pass from {shown.root}",
                on_choose=picker.node,
            )
        with key:
            legend({node.kind for node in drawn.nodes})
        unfolding(drawn, picked.node)
        detail(picked, shown)

mark_lines(error=trace.error.line if trace.error else None, selected=picked.line)
if trace.tensors:
    tables.table(
        tables.TENSOR_COLUMNS,
        tables.tensor_rows(trace.tensors),
        key="tensors",
        total=len(trace.tensors),
        selected=picked.tensor.id if picked.tensor else None,
        on_choose=picker.tensor,
    )
