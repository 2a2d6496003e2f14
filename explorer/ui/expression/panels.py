"""What follows the reader's selection: the graph, and below it one of several views of the run."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from explorer.trace import BackwardPass
from explorer.ui.common.editor import draw_lines
from explorer.ui.common.query_params import accept_renamed
from explorer.ui.common.table import table
from explorer.ui.expression import iterations, step_marks, walk
from explorer.ui.expression.curves_panel import curves_panel
from explorer.ui.expression.events_panel import events_panel
from explorer.ui.expression.gradient_check import check_panel
from explorer.ui.expression.graph_panel import GraphPanel
from explorer.ui.expression.live_numbers import line_ends
from explorer.ui.expression.memory_panel import memory_panel
from explorer.ui.expression.program import ProgramRun, failed_line, run_with_capture
from explorer.ui.expression.selection import Picker, Selection
from explorer.ui.expression.tensor_panel import tensor_panel
from explorer.ui.expression.tensor_table import shown_tensors, tensor_columns, tensor_rows

#: In the order of the switch. The titles are the values of `?panel=`.
PANELS = {
    "tensors": "Tensors",
    "step": "Step",
    "tensor": "Tensor",
    "events": "Events",
    "check": "Gradient check",
    "memory": "Memory",
}
#: Those of programs with many backward passes.
LOOP_PANELS = {"curves": "Curves"}
#: By the labels in links of earlier versions.
_RENAMED = {"Table": "tensors", "Detail": "tensor", "Check": "check"}
#: Those that show no gradient while gradients are hidden.
WITHOUT_GRADIENTS = ("tensors", "tensor")


def draw_selection(run: ProgramRun, graph: GraphPanel | None, place: Any) -> None:
    """Draw what follows the reader's selection: the graph, the marked lines of the editor, and in
    `place` the panels. A fragment, so that a press in them draws nothing else again."""
    draw = st.fragment(_draw_selection, run_every=walk.PLAYER.interval)
    draw(run, graph, place)


def _draw_selection(run: ProgramRun, graph: GraphPanel | None, place: Any) -> None:
    shown, nodes = (graph.shown, graph.drawn.nodes) if graph else (None, ())
    picker = Picker("expression", run.trace, shown, nodes)
    walk.play_on(picker)
    picked = picker.current()
    if graph:
        graph.draw_graph(picker, picked)
    selected = None if run.running else picked.line
    ends = {} if run.running or run.failure else line_ends(run.trace)
    draw_lines(
        picker.line,
        source=run.trace.source,
        error=failed_line(run),
        selected=selected,
        ends=ends,
    )
    with place:
        _panels(run, shown, picker, picked)


def _panels(run: ProgramRun, shown: BackwardPass | None, picker: Picker, picked: Selection) -> None:
    """Draw the switch, and the chosen panel below it."""
    if not run.trace.tensors:
        return
    chosen = _switch(run)
    draw = {
        "tensors": partial(_tensors, run, shown, picker, picked),
        "step": partial(walk.step_panel, picked, shown),
        "tensor": partial(tensor_panel, run.trace, picker, picked),
        "events": partial(events_panel, run.trace),
        "check": partial(check_panel, run.trace, run.upstream),
        "memory": partial(memory_panel, run.trace, partial(run_with_capture, run)),
        "curves": partial(curves_panel, run.trace, shown.number if shown else None),
    }
    draw[chosen]()


def _switch(run: ProgramRun) -> str:
    """The key of the panel to show; fewer are offered while gradients are hidden."""
    accept_renamed("panel", _RENAMED)
    titles = PANELS | LOOP_PANELS if iterations.is_long(run.trace) else PANELS
    offered = WITHOUT_GRADIENTS if run.hidden else tuple(titles)
    if st.session_state.get("panel") not in offered:
        st.session_state.pop("panel", None)
    return st.segmented_control(
        "Show",
        offered,
        default=offered[0],
        required=True,
        format_func=titles.__getitem__,
        key="panel",
        bind="query-params",
        label_visibility="collapsed",
        help="Tensors: all of them in a table. Step: what a node of the backward pass takes in and "
        "passes on. Tensor: one in detail. Events: hooks, zero_grad, step. Gradient check: compare "
        "with measured slopes. Memory: hooks and retain_grad compared. Curves: loss and norms, "
        "pass by pass.",
    )


def _tensors(
    run: ProgramRun, shown: BackwardPass | None, picker: Picker, picked: Selection
) -> None:
    awaited = step_marks.awaited(picked, shown, run.trace.tensors) if shown else {}
    table(
        tensor_columns(run.trace.tensors),
        tensor_rows(shown_tensors(run.trace), hidden=run.hidden, awaited=awaited),
        key="tensors",
        label="Tensors of the program",
        total=len(run.trace.tensors),
        selected=picked.tensor.id if picked.tensor else None,
        on_choose=picker.tensor,
    )
