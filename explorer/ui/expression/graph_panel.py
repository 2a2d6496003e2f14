"""The graph of one backward pass: which pass, what of it is drawn, and what the reader picked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import streamlit as st

from explorer.trace import (
    MAX_NODES,
    BackwardPass,
    Node,
    TensorRecord,
    Trace,
    dot_text,
    fold,
    render_dot,
)
from explorer.trace.pass_hooks import hooked_tensors
from explorer.trace.render_dot import digest
from explorer.ui.common.drag import draggable_leaves
from explorer.ui.common.graph import Draggable, Links, before_error, graph, legend
from explorer.ui.common.inputs import in_link
from explorer.ui.common.open_in_optimizer import step_program
from explorer.ui.common.open_network import show_network
from explorer.ui.common.query_params import report_invalid
from explorer.ui.common.reconnect import keep, restore_once
from explorer.ui.common.shared_cache import derived, shared
from explorer.ui.expression import iterations, step_marks, walk
from explorer.ui.expression.downloads import downloads
from explorer.ui.expression.program import ProgramRun
from explorer.ui.expression.selection import Picker, Selection

_UNFOLDED = "unfolded"
_SAVED = "Draws the values that operations save for backward"
#: Marks the graph while the program runs again, if that takes longer than a moment.
_STALE = (
    '<div class="ax-note ax-late">From the previous run</div>'
    "<style>.st-key-graph { animation: ax-fade 0.2s 0.4s both; }</style>"
)


@dataclass(frozen=True)
class DrawnPass:
    """A graph ready to be laid out. `name` is the whole graph's, `unfolded` are the blocks the
    reader has expanded, and `folded` says whether any block remains. `links` are to the table and
    the program."""

    name: str
    dot: str
    nodes: tuple[Node, ...]
    unfolded: frozenset[str]
    folded: bool
    links: Links


@dataclass(frozen=True)
class GraphPanel:
    """The pass that is shown, its graph, and the places of the list of nodes and of the graph with
    the walk below it. `draggable` are the leaves whose number can be pulled."""

    shown: BackwardPass
    drawn: DrawnPass
    list_place: Any
    place: Any
    draggable: Draggable = field(default_factory=dict)

    def draw_graph(self, picker: Picker, picked: Selection) -> None:
        """Draw the graph with what is picked, the list of its nodes and the walk."""
        with self.place:
            graph(
                self.drawn.dot,
                self.drawn.nodes,
                key="graph",
                head=self.list_place,
                marks=step_marks.marks(picked, self.shown, self.drawn.nodes),
                links=self.drawn.links,
                draggable=self.draggable,
                alt=f"Graph of the backward pass from {self.shown.root}",
                on_choose=picker.node,
            )
            walk.walk_bar(picker, picked, self.shown)
            _unfold_buttons(self.drawn, picked.node)


def graph_panel(run: ProgramRun, tools: Any, more: Any) -> GraphPanel | None:
    """Draw what stands above and below the graph and make a place for it, or say why there is
    none. Its download goes into the row `tools`, what is needed rarely into `more`."""
    head = st.container(horizontal=True, vertical_alignment="center", gap="small")
    if run.trace.passes and not run.running:
        iterations.validate_link(run.trace)
    with head:
        shown = _choose_pass(run.trace)
        if run.running and shown:
            st.html(_STALE, width="content")
        elif run.failed and shown:
            before_error("graph", "curve", "inputs", "tensors")
    if run.running and not shown:
        st.html(
            '<div class="ax-note ax-waiting">The graph appears here when the program has run.</div>'
        )
    else:
        _remarks(run, shown)
    if shown and not run.running:
        report_invalid(**{iterations.KEY: shown.number}, **in_link(run.trace))
    if shown is None:
        with tools:
            downloads(run, None)
        return None
    place, key = st.container(), head.container(width="content")
    with more:
        saved = st.toggle("Show saved values", key="saved", bind="query-params", help=_SAVED)
    drawn = draw_pass(run.trace, shown, saved=saved)
    with key:
        legend(drawn.dot)
    with tools:
        downloads(run, drawn.dot)
    list_place = more.container() if render_dot.available() else head.container(width="content")
    with more:
        if not run.hidden:
            step_program(run.trace)
            show_network(run.trace)
    return GraphPanel(shown, drawn, list_place, place, draggable_leaves(run.trace, drawn.nodes))


def _choose_pass(trace: Trace) -> BackwardPass | None:
    """The backward pass to show, with its title; a choice where there are several."""
    if not trace.passes:
        return None
    if iterations.is_long(trace) or len(trace.passes) == 1:
        number = iterations.choose_pass(trace) if iterations.is_long(trace) else 1
        shown = _find_pass(trace, number)
        st.html(f'<div class="ax-label">{escape(_title(shown))}</div>', width="stretch")
        return shown
    names = {p.number: f"{p.number} of {trace.pass_count}: {_title(p)}" for p in trace.passes}
    number = st.selectbox(
        "Backward pass",
        list(names),
        format_func=lambda n: names.get(n, n),
        key=f"pass-{len(names)}",
        bind="query-params",
        label_visibility="collapsed",
        help="The program calls backward several times: the graph and the steps show one pass",
    )
    return _find_pass(trace, number)


def _find_pass(trace: Trace, number: int) -> BackwardPass:
    """The pass with this number; the nearest where it is not recorded."""
    return min(trace.passes, key=lambda p: abs(p.number - number))


def _title(shown: BackwardPass) -> str:
    if shown.ours:
        return f"Backward from {shown.root}, called by the app"
    return f"Backward from {shown.root}" + (f", line {shown.line}" if shown.line else "")


def _remarks(run: ProgramRun, shown: BackwardPass | None) -> None:
    """Say which passes were left out, or why there is no graph."""
    trace, sentences = run.trace, []
    if run.repeated:
        sentences.append(run.repeated)
    elif trace.pass_count > len(trace.passes):
        sentences.append(
            f"Of {trace.pass_count:,} backward passes, numbers {iterations.recorded(trace)} are "
            "recorded; for any other the program runs again."
        )
    if not shown and not trace.error and not trace.needs_upstream:
        sentences.append(_why_no_graph(trace))
    if sentences:
        st.html(f'<div class="ax-note">{"<br>".join(map(escape, sentences))}</div>')


def _why_no_graph(trace: Trace) -> str:
    """Why a program that ran has no backward pass."""
    if not trace.tensors:
        return "No tensor has a name. Assign one to a name to see it here."
    if not any(record.requires_grad for record in trace.tensors):
        return "No tensor here requires a gradient, so there is no graph to go back through."
    if all(record.is_leaf for record in trace.tensors):
        return "No operation that autograd follows was recorded, so there is no graph."
    return "backward has not run, so no graph is shown."


def draw_pass(trace: Trace, shown: BackwardPass, *, saved: bool) -> DrawnPass:
    """The graph of `shown`, without the saved tensors unless `saved`.

    Above `MAX_NODES` nodes each line is one block, except those the reader has expanded.
    """
    name = digest(f"{trace.source}\0{trace.seed}{trace.capture}{shown.number}\0{shown.dot}")
    restore_once(_UNFOLDED, _read_unfolded)
    graph_name, unfolded = st.session_state.get(_UNFOLDED, (name, frozenset()))
    if graph_name != name:
        unfolded = frozenset()
    hide = () if saved else ("saved",)
    identity = derived(trace, "identity", object)
    return _draw_pass((identity, shown.number, hide, unfolded), name, trace, shown)


def _read_unfolded(kept: Any) -> tuple[str, frozenset[str]]:
    """The graph and its blocks, as the browser kept them."""
    name, blocks = kept
    return str(name), frozenset(map(str, blocks[:MAX_NODES]))


# By the trace itself, not by what it says: a program may forge its answer.
@shared(32 * 2**20, key=lambda key, *_: key)
def _draw_pass(
    key: tuple[object, int, tuple[str, ...], frozenset[str]],
    name: str,
    trace: Trace,
    shown: BackwardPass,
) -> DrawnPass:
    _, _, hide, unfolded = key
    nodes = [node for node in shown.nodes if node.kind not in hide]
    edges = list(shown.edges)
    folded = len(nodes) > MAX_NODES
    if folded:
        nodes, edges = fold(nodes, edges, unfolded)
    hooked = hooked_tensors(trace, shown)
    labels = {number: hooks.label for number, hooks in hooked.items()}
    dot = dot_text(nodes, edges, records_after(trace, shown), hide=hide, hooks=labels)
    places = {node.id: (_tensor_of(node, shown), node.line) for node in nodes}
    notes = {n.id: hooked[n.tensor].sentence for n in nodes if n.tensor in hooked}
    return DrawnPass(name, dot, tuple(nodes), unfolded, folded, Links(places, notes))


def _tensor_of(node: Node, shown: BackwardPass) -> int | None:
    """The id of a node's tensor; of an AccumulateGrad, its leaf's."""
    if node.kind != "accumulate":
        return node.tensor
    sources = {edge.source for edge in shown.edges if edge.target == node.id}
    return next((n.tensor for n in shown.nodes if n.id in sources), None)


def records_after(trace: Trace, shown: BackwardPass) -> dict[int, TensorRecord]:
    """The records by id; where there are several passes, with the gradients this one left."""
    records = {record.id: record for record in trace.tensors}
    if trace.pass_count < 2:
        return records
    for number, grad in shown.leaf_gradients.items():
        if number in records:
            records[number] = replace(records[number], grad=grad)
    nodes = {node.id: node for node in shown.nodes}
    for step in shown.steps:
        tensor = nodes[step.node].tensor if step.node in nodes else None
        if tensor in records and len(step.grads_in) == 1:
            records[tensor] = replace(records[tensor], grad=step.grads_in[0])
    return records


def _unfold_buttons(drawn: DrawnPass, chosen: Node | None) -> None:
    """Say that the graph is folded; expand the chosen block, or collapse all."""
    if not drawn.folded:
        return

    def button(label: str, blocks: frozenset[str], help: str) -> None:
        if st.button(label, help=help):
            st.session_state[_UNFOLDED] = (drawn.name, blocks)
            st.rerun()  # the legend and the downloads follow

    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(
            f'<div class="ax-note">More than {MAX_NODES} nodes: each line of the program is one '
            "block. Click a block to expand it.</div>",
            width="stretch",
        )
        if chosen is not None and chosen.kind == "block":
            label = f"Expand line {chosen.line}" if chosen.line else "Expand"
            button(label, drawn.unfolded | {chosen.id}, "Draws the nodes of the chosen block")
        if drawn.unfolded:
            keep(_UNFOLDED, [drawn.name, sorted(drawn.unfolded)])
            button("Collapse all", frozenset(), "Draws each line as one block again")
