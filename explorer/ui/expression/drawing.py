"""What of a pass's graph is drawn: with or without what was saved, folded where it is large."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from explorer.trace import MAX_NODES, BackwardPass, Node, TensorRecord, Trace, dot_text, fold
from explorer.ui.common.render_dot import digest

_KEY = "unfolded"


@dataclass(frozen=True)
class Drawing:
    """A graph ready to be laid out. `name` is the whole graph's, `unfolded` the blocks that
    stand open, and `folded` says whether any part stands as a block."""

    name: str
    dot: str
    nodes: tuple[Node, ...]
    unfolded: frozenset[str]
    folded: bool


def drawing(trace: Trace, shown: BackwardPass, *, saved: bool) -> Drawing:
    """The graph of `shown`, without the saved tensors unless `saved`.

    Above `MAX_NODES` nodes each line is one block, but for those the reader has unfolded.
    """
    name = digest(f"{trace.source}\0{trace.seed}{trace.capture}{shown.number}\0{shown.dot}")
    of, unfolded = st.session_state.get(_KEY, (name, frozenset()))
    if of != name:
        unfolded = frozenset()
    return _drawing(name, () if saved else ("saved",), unfolded, trace, shown)


@st.cache_data(max_entries=64, show_spinner=False)
def _drawing(
    name: str, hide: tuple[str, ...], unfolded: frozenset[str], _trace: Trace, _shown: BackwardPass
) -> Drawing:
    nodes = [node for node in _shown.nodes if node.kind not in hide]
    edges = list(_shown.edges)
    folded = len(nodes) > MAX_NODES
    if folded:
        nodes, edges = fold(nodes, edges, unfolded)
    dot = dot_text(nodes, edges, _as_then(_trace, _shown), hide=hide)
    return Drawing(name, dot, tuple(nodes), unfolded, folded)


def _as_then(trace: Trace, shown: BackwardPass) -> dict[int, TensorRecord]:
    """The records by id; of several passes, with the gradients as this one left them."""
    records = {record.id: record for record in trace.tensors}
    if trace.pass_count < 2:
        return records
    nodes = {node.id: node for node in shown.nodes}
    for step in shown.steps:
        feeds = [edge.source for edge in shown.edges if edge.target == step.node]
        leaf = next((nodes[n] for n in feeds if nodes[n].kind == "leaf"), None)
        if step.after is not None and leaf is not None and leaf.tensor in records:
            records[leaf.tensor] = replace(records[leaf.tensor], grad=step.after)
        made = nodes[step.node].tensor if step.node in nodes else None
        if made in records and len(step.grads_in) == 1:
            records[made] = replace(records[made], grad=step.grads_in[0])
    return records


def unfolding(drawn: Drawing, chosen: Node | None) -> None:
    """Say that the graph is folded; unfold the chosen block, or fold everything again."""
    if not drawn.folded:
        return

    def keep(blocks: frozenset[str]) -> None:
        st.session_state[_KEY] = (drawn.name, blocks)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(
            f'<div class="ax-note">More than {MAX_NODES} nodes: each line of the program is one '
            "block. Choose a block to unfold it.</div>",
            width="stretch",
        )
        if chosen is not None and chosen.kind == "block":
            label = f"Unfold line {chosen.line}" if chosen.line else "Unfold"
            st.button(
                label,
                on_click=keep,
                args=(drawn.unfolded | {chosen.id},),
                help="Draws the nodes of the chosen block",
            )
        if drawn.unfolded:
            st.button(
                "Fold all",
                on_click=keep,
                args=(frozenset(),),
                help="Draws each line as one block again",
            )
