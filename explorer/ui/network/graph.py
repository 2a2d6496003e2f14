"""The network's graph: by module, unfolded block by block, or every node as torchviz draws it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from explorer.networks import (
    COLOURS,
    FoldedGraph,
    FoldedNode,
    FullGraph,
    Report,
    Structure,
    fold,
    folded_dot,
)
from explorer.networks.graph_dot import CLASSES
from explorer.trace import MAX_NODES, Node, dot_text
from explorer.trace.text import number
from explorer.ui.common.glossary import html, term_link
from explorer.ui.common.graph import Marks, graph, legend
from explorer.ui.common.widgets import choice, note
from explorer.ui.network import runs
from explorer.ui.network.job_progress import result
from explorer.ui.network.settings import Setting

#: The names of the unfolded blocks in the address, separated by commas.
ADDRESS = "open"
MODULES, NODES = "Modules", "Nodes"
_NONE = "none"
#: A graph opens with at least this many modules, if it has them.
_BOXES = 5
_HEIGHT = 330
#: What a graph can be coloured by, and the glossary's term for it.
_TERMS = {"gradient norm": "norm", "MACs": "macs", "parameters": "parameter"}


@dataclass(frozen=True)
class Drawn:
    """A graph ready to be laid out, and its nodes for the list."""

    dot: str
    nodes: tuple[Node, ...]


def section(
    setting: Setting, report: Report, chosen: str | None, choose: Callable[[str], None]
) -> Drawn | None:
    """Draw the graph and its controls; `choose` is called with the name of a layer."""
    structure = report.structure
    if structure is None or not structure.operations:
        note("There is no graph: " + ("forward did not end." if report.error else "no gradients."))
        return None
    head = st.container(horizontal=True, vertical_alignment="center", gap="small")
    whole = False
    with head:
        if len(structure.operations) <= MAX_NODES:
            whole = (
                choice(
                    "Graph",
                    "graph",
                    [MODULES, NODES],
                    "Modules: each is one box. Nodes: every node of the autograd graph.",
                )
                == NODES
            )
    if whole:
        return _every_node(setting, head)
    with head:
        colour = _colour()
    return _modules(structure, head, colour, chosen, choose)


def _every_node(setting: Setting, head: Any) -> Drawn | None:
    full = result("graph", setting.key, partial(runs.whole_graph, setting))
    if full is None:
        return None
    drawn = _whole(setting.key, full)
    st.session_state.setdefault("network-node", None)

    def keep(name: str | None) -> None:
        st.session_state["network-node"] = name

    picked = st.session_state["network-node"]
    graph(
        drawn.dot,
        drawn.nodes,
        key="network-graph",
        head=head,
        marks=Marks(selected=picked if picked in {n.id for n in drawn.nodes} else None),
        height=_HEIGHT,
        alt=f"Autograd graph of {setting.name}",
        on_choose=keep,
    )
    legend(drawn.dot)
    return drawn


@st.cache_resource(max_entries=32, show_spinner=False)
def _whole(key: str, _full: FullGraph) -> Drawn:
    hide = ("saved",)
    nodes = tuple(node for node in _full.nodes if node.kind not in hide)
    return Drawn(dot_text(_full.nodes, _full.edges, {}, hide=hide), nodes)


def _modules(
    structure: Structure,
    head: Any,
    colour: str,
    chosen: str | None,
    choose: Callable[[str], None],
) -> Drawn:
    opened = _opened(structure)
    folded = fold(structure, opened)
    nodes = tuple(_listed(i, node) for i, node in enumerate(folded.nodes))
    drawn = Drawn(folded_dot(folded, colour), nodes)
    by_id = {f"n{i}": node for i, node in enumerate(folded.nodes)}
    blocks = _blocks(structure)
    marked = next((n for n, node in by_id.items() if _layer(node) == chosen), None)
    if marked is None and chosen:  # it is folded away: the block that holds it
        marked = next((n for n, node in by_id.items() if _holds(node, chosen)), None)

    def clicked(name: str | None) -> None:
        node = by_id.get(name or "")
        if node is None:
            choose("")
        elif node.kind == "repeat" or node.id in blocks:
            _keep(opened | {node.id})
        else:
            choose(_layer(node))

    graph(
        drawn.dot,
        nodes,
        key="network-graph",
        head=head,
        marks=Marks(selected=marked),
        height=_HEIGHT,
        alt=f"Graph of the network by module, coloured by {colour}",
        on_choose=clicked,
    )
    _foot(folded, opened, colour, by_id.get(marked or ""))
    return drawn


def _colour() -> str:
    options = list(_TERMS)
    chosen = st.selectbox(
        "Colour by",
        options,
        key="colour",
        bind="query-params",
        label_visibility="collapsed",
        width=150,
        help="Which number fills the boxes: white at 0, the full colour at the largest",
    )
    return chosen if chosen in options else options[0]


def _foot(
    folded: FoldedGraph, opened: frozenset[str], colour: str, marked: FoldedNode | None
) -> None:
    measure, full = COLOURS[colour]
    values = [v for v in map(measure, folded.nodes) if v is not None and math.isfinite(v)]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        most = f" 0 to {number(max(values))}" if values else " not known"
        legend("", (full, html(term_link(_TERMS[colour], colour), most)))
        if folded.hidden:
            note(f"{folded.hidden:,} operations folded: choose a block.")
        if marked is not None and marked.unfolds and marked.id not in opened:
            st.button(
                f"Unfold {marked.name}",
                on_click=_keep,
                args=(opened | {marked.id},),
                help="Draws what is inside the chosen block",
            )
        if opened:
            st.button(
                "Fold all",
                key="fold",
                on_click=_keep,
                args=(frozenset(),),
                help="Draws every block as one box again",
            )


def _layer(node: FoldedNode) -> str:
    """The layer that a box belongs to."""
    if node.kind == "parameter":
        return node.name.rpartition(".")[0]
    name = node.id if node.kind == "module" else (node.inside[-1] if node.inside else "")
    return name.partition(" #")[0]


def _holds(node: FoldedNode, layer: str) -> bool:
    return node.kind == "module" and layer.startswith(f"{_layer(node)}.")


def _listed(number: int, node: FoldedNode) -> Node:
    return Node(f"n{number}", CLASSES[node.kind], node.type or node.kind, node.name)


def _blocks(structure: Structure) -> set[str]:
    """The names of modules that have modules inside."""
    calls = structure.calls
    return {calls[call.parent].name for call in calls if call.parent is not None}


def _opened(structure: Structure) -> frozenset[str]:
    """The blocks the address names; at first as many as it takes to show a few modules."""
    named = st.query_params.get(ADDRESS)
    if named is not None:
        return frozenset(name for name in named[:4000].split(",") if name and name != _NONE)
    return _first(structure)


def _first(structure: Structure) -> frozenset[str]:
    opened: frozenset[str] = frozenset()
    blocks = _blocks(structure)
    while True:
        folded = fold(structure, opened)
        if sum(n.kind in ("module", "repeat") for n in folded.nodes) >= _BOXES:
            return opened
        closed = [n for n in folded.nodes if n.unfolds and (n.kind == "repeat" or n.id in blocks)]
        if not closed:
            return opened
        opened |= {max(closed, key=lambda node: node.macs or 0).id}


def _keep(opened: frozenset[str]) -> None:
    st.query_params[ADDRESS] = ",".join(sorted(opened)) or _NONE
