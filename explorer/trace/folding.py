"""Large graphs, folded: the nodes made on one line of the program become one block."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from explorer.trace.records import Edge, Node

#: Above this many nodes a graph is drawn folded.
MAX_NODES = 300


def fold(
    nodes: Sequence[Node], edges: Sequence[Edge], unfolded: Collection[str] = ()
) -> tuple[list[Node], list[Edge]]:
    """Join the function nodes of each line into one node of kind "block".

    A block's id is `line<N>`; the blocks named in `unfolded` stay open. Leaves and outputs stay.
    Nodes whose line is not known belong to the block "line0".
    """
    blocks: dict[str, list[Node]] = defaultdict(list)
    owner: dict[str, str] = {}
    for node in nodes:
        if node.kind in ("function", "accumulate", "saved", "frozen"):
            block = f"line{node.line or 0}"
            if block not in unfolded:
                blocks[block].append(node)
                owner[node.id] = block
    folded = [node for node in nodes if node.id not in owner]
    folded += [_block(name, members) for name, members in blocks.items()]
    joined = dict.fromkeys(
        Edge(owner.get(edge.source, edge.source), owner.get(edge.target, edge.target), edge.kind)
        for edge in edges
    )
    return folded, [e for e in joined if e.source != e.target or e.source not in blocks]


def _block(name: str, members: Sequence[Node]) -> Node:
    kinds = Counter(node.name for node in members if node.kind == "function")
    text = ", ".join(f"{kind} ×{count}" for kind, count in kinds.most_common(3))
    line = members[0].line
    label = f"line {line}" if line else "elsewhere"
    many = f"{len(members)} node{'' if len(members) == 1 else 's'}"
    return Node(name, "block", f"{many}: {text}".rstrip(": "), label, line=line)
