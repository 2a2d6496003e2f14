"""The network's graph: by module, unfolded block by block, or every node as torchviz draws it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import streamlit as st

from explorer import limits
from explorer.networks import COLOURS, Report, fold, folded_dot
from explorer.networks.graphs import CLASSES, FoldedGraph, FoldedNode, FullGraph, first_unfolded
from explorer.networks.records import Structure
from explorer.networks.settings import Settings
from explorer.trace import Node, dot_text
from explorer.trace.text import number
from explorer.ui.network.runs import await_run
from explorer.ui.network.selection import Shown, pick
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.basics import as_code, choice, note
from explorer.ui.widgets.mounts import draw_legend, mount_graph
from explorer.ui.widgets.reconnect import keep, restore_once
from explorer.view.glossary import html, term_link
from explorer.view.graph import Marks
from explorer.view.node_words import in_words

#: The query parameter with the names of the unfolded blocks, separated by commas.
UNFOLDED = "open"
MODULES, NODES = "Modules", "Nodes"
_NONE = "none"
#: The selected node of the graph with every node.
_NODE = "network-node"
#: What a graph can be coloured by, and the glossary's term for it.
_TERMS = {"gradient norm": "norm", "MACs": "macs", "parameters": "parameter"}


@dataclass(frozen=True)
class GraphChoice:
    """What is drawn: the network by module, coloured by a number, or if `colour` is None every
    node. `head` is the row above the graph."""

    structure: Structure
    head: Any
    colour: str | None


@dataclass(frozen=True)
class DrawnGraph:
    """A graph as DOT text, and its nodes for the list."""

    dot: str
    nodes: tuple[Node, ...]


def choose_graph(report: Report) -> GraphChoice | None:
    """Draw the row above the graph, or say why there is none."""
    structure = report.structure
    if structure is None or not structure.operations:
        reason = "forward failed" if report.error else "nothing requires grad"
        note(f"There is no graph, because {reason}.")
        return None
    head = st.container(horizontal=True, vertical_alignment="center", gap="small")
    every_node = False
    with head:
        if len(structure.operations) <= limits.MAX_NODES:
            every_node = (
                choice(
                    "Graph",
                    "graph",
                    [MODULES, NODES],
                    "Modules: one box for each module. Nodes: every node of the autograd graph",
                )
                == NODES
            )
        return GraphChoice(structure, head, None if every_node else _choose_colour())


def draw_graph(shown: Shown, chosen: GraphChoice) -> DrawnGraph | None:
    """Draw the graph, and the list of its nodes in the row above it."""
    if chosen.colour is None:
        return _draw_full_graph(shown.settings, chosen.head)
    return _draw_modules(shown, chosen.structure, chosen.head, chosen.colour)


def _draw_full_graph(settings: Settings, head: Any) -> DrawnGraph | None:
    full: FullGraph | None = await_run("graph", "draw_full_graph", settings)
    if full is None:
        return None
    drawn = _to_dot(settings.key, full)
    restore_once(_NODE, str)
    st.session_state.setdefault(_NODE, None)

    def select(name: str | None) -> None:
        st.session_state[_NODE] = name

    selected = st.session_state[_NODE]
    if selected:
        keep(_NODE, selected)
    mount_graph(
        drawn.dot,
        drawn.nodes,
        key="network-graph",
        head=head,
        marks=Marks(selected=selected if selected in {n.id for n in drawn.nodes} else None),
        alt=f"Autograd graph of {settings.name}",
        on_choose=select,
    )
    draw_legend(drawn.dot)
    return drawn


@shared(32 * 2**20, key=lambda key, _: key)
def _to_dot(key: str, full: FullGraph) -> DrawnGraph:
    hide = ("saved",)
    nodes = tuple(node for node in full.nodes if node.kind not in hide)
    return DrawnGraph(dot_text(full.nodes, full.edges, {}, hide=hide), nodes)


def _draw_modules(shown: Shown, structure: Structure, head: Any, colour: str) -> DrawnGraph:
    selected_layer = shown.layer
    unfolded = _unfolded(structure)
    folded = in_words(fold(structure, unfolded))
    nodes = tuple(_list_entry(i, node) for i, node in enumerate(folded.nodes))
    drawn = DrawnGraph(folded_dot(folded, colour), nodes)
    by_id = {f"n{i}": node for i, node in enumerate(folded.nodes)}
    blocks = _blocks(structure)
    marked = next((n for n, node in by_id.items() if _layer(node) == selected_layer), None)
    if marked is None and selected_layer:  # it is hidden: the block that contains it
        marked = next((n for n, node in by_id.items() if _contains(node, selected_layer)), None)

    def clicked(name: str | None) -> None:
        node = by_id.get(name or "")
        if node is None:
            shown.select_layer("")
        elif node.kind == "repeat" or node.id in blocks:
            _unfold(unfolded | {node.id})
        else:
            shown.select_layer(_layer(node))

    mount_graph(
        drawn.dot,
        nodes,
        key="network-graph",
        head=head,
        marks=Marks(selected=marked),
        alt=f"Graph of the network by module, coloured by {colour}",
        on_choose=clicked,
    )
    _draw_foot(folded, unfolded, colour, by_id.get(marked or ""))
    return drawn


def _choose_colour() -> str:
    about = "The number that colours the boxes: white at 0, the full colour at the largest value"
    return pick("Colour by", "colour", list(_TERMS), about, width=150)


def _draw_foot(
    folded: FoldedGraph, unfolded: frozenset[str], colour: str, marked: FoldedNode | None
) -> None:
    measure, full = COLOURS[colour]
    values = [v for v in map(measure, folded.nodes) if v is not None and math.isfinite(v)]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        span = f" 0 to {number(max(values))}" if values else " not known"
        draw_legend("", (full, html(term_link(_TERMS[colour], colour), span)))
        if folded.hidden:
            note(f"{folded.hidden:,} operations hidden. Click a block to expand it.")
        if marked is not None and marked.unfolds and marked.id not in unfolded:
            st.button(
                f"Expand {as_code(marked.name)}",
                on_click=_unfold,
                args=(unfolded | {marked.id},),
                help="Shows what is inside the selected block",
            )
        if unfolded:
            st.button(
                "Collapse all",
                key="fold",
                on_click=_unfold,
                args=(frozenset(),),
                help="Shows every block as one box again",
            )


def _layer(node: FoldedNode) -> str:
    """The layer that a box belongs to."""
    if node.kind == "parameter":
        return node.name.rpartition(".")[0]
    name = node.id if node.kind == "module" else (node.inside[-1] if node.inside else "")
    return name.partition(" #")[0]


def _contains(node: FoldedNode, layer: str) -> bool:
    return node.kind == "module" and layer.startswith(f"{_layer(node)}.")


def _list_entry(number: int, node: FoldedNode) -> Node:
    return Node(f"n{number}", CLASSES[node.kind], node.type or node.kind, node.name)


def _blocks(structure: Structure) -> set[str]:
    """The names of modules that have modules inside."""
    calls = structure.calls
    return {calls[call.parent].name for call in calls if call.parent is not None}


def _unfolded(structure: Structure) -> frozenset[str]:
    """The blocks in the query parameter; without it, as many as it takes to show a few modules."""
    named = st.query_params.get(UNFOLDED)
    if named is not None:
        return frozenset(name for name in named[:4000].split(",") if name and name != _NONE)
    return first_unfolded(structure)


def _unfold(blocks: frozenset[str]) -> None:
    st.query_params[UNFOLDED] = ",".join(sorted(blocks)) or _NONE
