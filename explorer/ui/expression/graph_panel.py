"""The graph of one backward pass: which pass, what of it is drawn, and what the reader picked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from explorer import limits
from explorer.trace import BackwardPass, Node, Trace, to_plain
from explorer.trace.proof.prove import untried
from explorer.trace.script import script
from explorer.trace.text import digest
from explorer.ui.expression import iterations
from explorer.ui.expression.output import with_repainted_figures
from explorer.ui.expression.program import ProgramRun
from explorer.ui.expression.selection import Picker
from explorer.ui.expression.walk import TORCH_NAMES, draw_walk
from explorer.ui.server.shared_cache import derived, shared
from explorer.ui.server.tries import known
from explorer.ui.widgets.basics import as_code, download_entry
from explorer.ui.widgets.download_menu import download_menu
from explorer.ui.widgets.drag import draggable_leaves
from explorer.ui.widgets.inputs import in_link
from explorer.ui.widgets.mounts import before_error, draw_legend, graph_files, mount_graph
from explorer.ui.widgets.open_in_optimizer import step_program
from explorer.ui.widgets.open_network import show_network
from explorer.ui.widgets.query_params import report_invalid
from explorer.ui.widgets.reconnect import keep, restore_once
from explorer.view import graphviz
from explorer.view.document import document
from explorer.view.drawn_pass import DrawnPass, make_graph, opens_on_modules
from explorer.view.fold import Folds
from explorer.view.graph import Draggable, Marks
from explorer.view.leaves import node_colours
from explorer.view.walk import Selection, marks

_UNFOLDED = "unfolded"
_NAMES = "Names the operations as autograd does: SinBackward0 for sin, AccumulateGrad for a leaf"
_FOLDED = "Press a block to open it, and the title of an open one to close it."
_SAVED = "Draws the values that operations save for backward"
#: Marks the graph while the program runs again, if that takes longer than a moment.
_STALE = (
    '<div class="ax-note ax-late">From the previous run</div>'
    "<style>.st-key-graph { animation: ax-fade 0.2s 0.4s both; }</style>"
)


@dataclass(frozen=True)
class GraphPanel:
    """The pass that is shown, its graph (by the `name` of its program), and the places of the list
    of nodes and of the graph with the walk below it. `draggable` are the leaves whose number can
    be pulled, `colours` those of leaves, `asked` the edges whose factor an exercise asks for."""

    name: str
    shown: BackwardPass
    drawn: DrawnPass
    list_place: Any
    place: Any
    draggable: Draggable
    colours: Mapping[str, int]
    asked: frozenset[str]

    def _marks(self, picked: Selection) -> Marks:
        """What is highlighted. While a factor is asked for, the gradients that it leads to, which
        would tell it, are hidden."""
        found = marks(picked, self.shown, self.drawn.nodes, self.drawn.where)
        if not self.asked or picked.walking:
            return found
        return replace(found, hidden=tuple(n.id for n in self.drawn.nodes if n.kind != "output"))

    def _choose(self, picker: Picker, name: str | None) -> None:
        """Pick a node; of an edge, the step that sends a gradient along it, in detail."""
        source, is_edge, target = (name or "").partition("-")
        if is_edge:
            st.session_state["panel"] = "step"
        picker.node(target if is_edge else source or None)

    def draw_graph(self, picker: Picker, picked: Selection) -> None:
        """Draw the graph with what is picked, the list of its nodes and the walk."""
        folds, unfolded = self.drawn.folds, self.drawn.unfolded
        if _unfolded(self.name, folds) not in (None, unfolded):
            st.rerun()  # a block was opened or closed: the legend and the downloads follow

        def press(name: str | None) -> None:
            if name is not None and name in unfolded:
                self._unfold(folds.closed(name, unfolded))
            elif name is not None and name in folds.blocks:
                self._unfold(folds.opened(name, unfolded))
            else:
                self._choose(picker, name)

        def find(name: str | None) -> None:
            if name is not None and folds.around(name):
                self._unfold(folds.opened(folds.around(name)[-1], unfolded))
            picker.node(name)

        with self.place:
            graph = st.container()
            foot = st.container(horizontal=True, vertical_alignment="center", gap="small")
        with graph:
            mount_graph(
                self.drawn.dot,
                self.drawn.nodes,
                with_factors=self.drawn.with_factors,
                key="graph",
                head=foot if folds.blocks else self.list_place,
                marks=self._marks(picked),
                links=self.drawn.links,
                draggable=self.draggable,
                colours=self.colours,
                alt=f"Graph of the backward pass from {self.shown.root}",
                on_choose=press,
                names=self.drawn.names,
                on_find=find,
            )
        with self.place:
            if folds.blocks:
                with foot:
                    self._draw_folds(picked.node)
            draw_walk(picker, picked, self.shown)

    def _draw_folds(self, chosen: Node | None) -> None:
        """Say that the graph is folded; open the block in which the chosen node is hidden, close
        the one it is drawn in, or all."""
        folds, unfolded = self.drawn.folds, self.drawn.unfolded

        def button(label: str, blocks: frozenset[str], help: str) -> None:
            st.button(label, help=help, on_click=self._unfold, args=(blocks,))

        if _unfolded(self.name) is not None:
            keep(_UNFOLDED, [self.name, sorted(unfolded)])
        if chosen is not None:
            hidden = folds.blocks.get(self.drawn.where.get(chosen.id, chosen.id))
            around = [folds.blocks[name] for name in folds.around(chosen.id)]
            if hidden is not None:
                blocks = folds.opened(hidden.id, unfolded)
                button(f"Open {as_code(hidden.label)}", blocks, "Shows what is in it")
            elif around:
                blocks = folds.closed(around[-1].id, unfolded)
                help = "Draws it as one block again"
                button(f"Collapse {as_code(around[-1].label)}", blocks, help)
        if unfolded:
            button("Collapse all", frozenset(), "Draws every block as one box again")
        if chosen is None:  # else there may be no room for it
            st.html(f'<div class="ax-note">{_FOLDED}</div>', width="stretch")

    def _unfold(self, blocks: frozenset[str]) -> None:
        st.session_state[_UNFOLDED] = (self.name, blocks)


def draw_graph_panel(run: ProgramRun, tools: Any, more: Any) -> GraphPanel | None:
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
        _draw_note(run, shown)
    if shown and not run.running:
        report_invalid(**{iterations.KEY: shown.number}, **in_link(run.trace))
    if shown is None:
        with tools:
            _draw_downloads(run, None)
        return None
    place, key = (
        st.container(),
        head.container(horizontal=True, vertical_alignment="center", gap="small", width="content"),
    )
    with more:
        saved = st.toggle("Show saved values", key="saved", bind="query-params", help=_SAVED)
    trace = run.trace
    name = digest(trace.source)
    with key:
        torch_names = st.toggle(
            "PyTorch's names", key=TORCH_NAMES, bind="query-params", help=_NAMES
        )
        legend = st.container(width="content")
    drawn = _kept_graph(name, run, shown, saved=saved, torch_names=torch_names)
    with legend:
        draw_legend(drawn.dot)
    with tools:
        _draw_downloads(run, drawn.dot)
    list_place = more.container() if graphviz.available() else head.container(width="content")
    with more:
        if not run.hidden:
            step_program(trace)
            if not opens_on_modules(trace, shown):  # else it is in sight
                show_network(trace)
    draggable = draggable_leaves(trace, drawn.nodes)
    colours = node_colours(trace, drawn.nodes)
    return GraphPanel(name, shown, drawn, list_place, place, draggable, colours, run.asked)


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


def _draw_note(run: ProgramRun, shown: BackwardPass | None) -> None:
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


def _kept_graph(
    name: str, run: ProgramRun, shown: BackwardPass, *, saved: bool, torch_names: bool
) -> DrawnPass:
    """The graph of `shown` with the blocks that the reader has expanded in the graph `name`."""
    restore_once(_UNFOLDED, _read_unfolded)
    unfolded = _unfolded(name)
    identity = derived(run.trace, "identity", object)
    key = (identity, shown.number, saved, torch_names, unfolded, run.asked)
    return _shared_graph(key, run.trace, shown)


def _unfolded(name: str, folds: Folds | None = None) -> frozenset[str] | None:
    """The blocks, if known those of `folds`, that the reader has left open in the graph `name`;
    None as long as nothing has been pressed."""
    graph, unfolded = st.session_state.get(_UNFOLDED, ("", frozenset()))
    if graph != name:
        return None
    return frozenset(unfolded if folds is None else unfolded & folds.blocks.keys())


def _read_unfolded(kept: Any) -> tuple[str, frozenset[str]]:
    """The graph and its blocks, as the browser kept them."""
    name, blocks = kept
    return str(name), frozenset(map(str, blocks[: limits.MAX_NODES]))


# By the trace itself, not by what it says: a program may forge its answer.
@shared(limits.PASSES_KEPT, key=lambda key, *_: key)
def _shared_graph(
    key: tuple[object, int, bool, bool, frozenset[str] | None, frozenset[str]],
    trace: Trace,
    shown: BackwardPass,
) -> DrawnPass:
    _, _, saved, torch_names, unfolded, asked = key
    return make_graph(
        trace, shown, saved=saved, unfolded=unfolded, torch_names=torch_names, asked=asked
    )


def _draw_downloads(run: ProgramRun, dot: str | None) -> None:
    """A menu of files; those of the graph only where there is one. While gradients are hidden the
    script, which would print them, is left out; so is the page while an exercise asks for one."""
    is_asked = run.hidden or run.asked
    make = None if is_asked else partial(_page_html, run)
    others = "The graph, all numbers of the run, a script that prints them"
    place = download_menu(make, "expression", others)
    if place is None:
        return
    with place:
        if dot is not None:
            graph_files(dot, "graph")
        download_entry(
            "Trace as JSON",
            lambda: json.dumps(to_plain(run.trace)).encode(),
            "trace.json",
            "application/json",
            "Every tensor, step and event",
        )
        download_entry(
            "Program as it was run",
            run.trace.completed.encode,
            "completed.py",
            "text/x-python",
            "With the lines that were added; needs only PyTorch",
        )
        if not run.hidden:
            download_entry(
                "PyTorch script",
                lambda: script(run.trace, upstream=run.upstream).encode(),
                "program.py",
                "text/x-python",
                "Needs only PyTorch and prints the same table",
            )


def _page_html(run: ProgramRun) -> str:
    """What is known of the run when the file is asked for, as a document."""
    trace = known(run.trace) or untried(run.trace)
    trace = replace(trace, answers=(*run.own_rules, *trace.answers))
    return document(with_repainted_figures(trace))
