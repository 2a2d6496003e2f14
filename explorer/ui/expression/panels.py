"""The panels below the graph: one of several views of the same run, and the walk's buttons."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explorer.ui.common.query_params import accept_renamed
from explorer.ui.common.table import table
from explorer.ui.expression import walk
from explorer.ui.expression.events_panel import events_panel
from explorer.ui.expression.gradient_check import check_panel
from explorer.ui.expression.graph_panel import GraphPanel
from explorer.ui.expression.memory_panel import memory_panel
from explorer.ui.expression.program import ProgramRun, run_with_capture
from explorer.ui.expression.tensor_panel import tensor_panel
from explorer.ui.expression.tensor_table import COLUMNS, tensor_rows

#: In the order of the switch. The titles are the values of `?panel=`.
PANELS = {
    "tensors": "Tensors",
    "step": "Step",
    "tensor": "Tensor",
    "events": "Events",
    "check": "Gradient check",
    "memory": "Memory",
}
#: By the labels in links of earlier versions.
_RENAMED = {"Table": "tensors", "Detail": "tensor", "Check": "check"}
#: Those that show no gradient while gradients are hidden.
WITHOUT_GRADIENTS = ("tensors", "tensor")


def panels(run: ProgramRun, graph: GraphPanel) -> None:
    """Draw the switch and the walk's buttons, and the chosen panel below them."""
    if not run.trace.tensors:
        return
    left, right = st.columns([0.44, 0.56], gap="medium", vertical_alignment="center")
    with left:
        chosen = _switch(hidden=run.hidden)
    with right:
        if graph.shown:
            walk.walk_bar(graph.picker, graph.picked, graph.shown)
    draw = {
        "tensors": partial(_tensors, run, graph),
        "step": partial(walk.step_panel, graph.picked, graph.shown),
        "tensor": partial(tensor_panel, run.trace, graph.picker, graph.picked),
        "events": partial(events_panel, run.trace),
        "check": partial(check_panel, run.trace, run.upstream),
        "memory": partial(memory_panel, run.trace, partial(run_with_capture, run)),
    }
    draw[chosen]()


def _switch(*, hidden: bool) -> str:
    """The key of the panel to show; fewer are offered while gradients are `hidden`."""
    accept_renamed("panel", _RENAMED)
    offered = WITHOUT_GRADIENTS if hidden else tuple(PANELS)
    if st.session_state.get("panel") not in offered:
        st.session_state.pop("panel", None)
    return st.segmented_control(
        "Show",
        offered,
        default=offered[0],
        required=True,
        format_func=PANELS.__getitem__,
        key="panel",
        bind="query-params",
        label_visibility="collapsed",
        help="Tensors: all of them in a table. Step: one node of the backward pass. Tensor: one in "
        "detail. Events: hooks, zero_grad, step. Gradient check: compare with measured slopes. "
        "Memory: hooks and retain_grad compared.",
    )


def _tensors(run: ProgramRun, graph: GraphPanel) -> None:
    picked = graph.picked.tensor
    table(
        COLUMNS,
        tensor_rows(run.trace.tensors, hidden=run.hidden),
        key="tensors",
        label="Tensors of the program",
        total=len(run.trace.tensors),
        selected=picked.id if picked else None,
        on_choose=graph.picker.tensor,
    )
