"""The Expression page: a program in, its graph and every gradient out."""

import streamlit as st

from explorer.trace.examples import EXAMPLES
from explorer.ui import frame, tables
from explorer.ui.detail import detail
from explorer.ui.editor import editor, mark_lines
from explorer.ui.errors import program_error
from explorer.ui.graph_view import Marks, graph
from explorer.ui.program import answer, capture_choice, passes, printed, remarks, upstream_choice
from explorer.ui.running import run
from explorer.ui.selection import Picker

frame.page("expression")
left, right = st.columns([0.44, 0.56], gap="medium")

with left:
    source = editor(EXAMPLES)
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Run", type="primary", icon=":material/play_arrow:")
        st.html('<div class="ax-note">Non-leaf gradients by</div>', width="content")
        capture = capture_choice()
    trace = run(source, capture=capture, afresh=pressed)
    if trace.needs_upstream:
        upstream = upstream_choice(trace.needs_upstream)
        trace = run(source, capture=capture, upstream=upstream, afresh=pressed)
    answer(source, EXAMPLES)
    printed(trace)

with right:
    if trace.error:
        program_error(trace.error)
    shown = passes(trace)
    picker = Picker("expression", trace, shown)
    picked = picker.current()
    remarks(trace, shown)
    if shown:
        graph(
            shown.dot,
            shown.nodes,
            key="graph",
            marks=Marks(selected=picked.node.id if picked.node else None),
            alt=f"Graph of the backward pass from {shown.root}",
            on_choose=picker.node,
        )
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
