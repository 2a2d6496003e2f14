"""A model's autograd graph: folded by module and unfolded block by block, or whole."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby
from typing import Any

from torch import Tensor, nn

from explorer import limits
from explorer.networks.error_messages import explain
from explorer.networks.passes import Loss, one_pass, tensors_in
from explorer.networks.records import LayerError, ModuleCall, Operation, Shapes, Structure
from explorer.trace.colours import FAINT, FILLS, GRADIENT, LARGEST_VALUE, LINE, RGB, TEXT
from explorer.trace.recording.torchviz_graph import DrawnNode, draw_graph, walk_graph
from explorer.trace.records import Edge, Node

#: Neighbouring blocks of equal structure are shown as one when there are at least this many.
REPEATS = 4
#: A graph opens with at least this many modules, if it has them.
MIN_MODULES = 5


@dataclass(frozen=True)
class FoldedNode:
    """One box of a folded graph.

    `kind` is "module", "repeat" (`count` neighbouring modules of equal structure), "operation"
    (one autograd node) or "parameter". `id` is what `fold` takes to unfold a module or repeat;
    `unfolds` says whether there is anything inside to show. `inside` are the unfolded modules it
    lies in, outermost first. `params`, `macs` and `norm` (of all its parameters' gradients
    together) include everything inside; None means not known.
    """

    id: str
    kind: str
    name: str
    type: str
    inside: tuple[str, ...] = ()
    count: int = 1
    unfolds: bool = False
    params: int | None = None
    macs: int | None = None
    norm: float | None = None
    output_shape: Shapes | None = None


@dataclass(frozen=True)
class FoldedGraph:
    """`edges` are pairs of node ids in the direction of computation. `hidden` counts the autograd
    nodes that are inside folded boxes."""

    nodes: tuple[FoldedNode, ...]
    edges: tuple[tuple[str, str], ...]
    hidden: int


@dataclass
class _Group:
    """A box that may be folded: one call, or a run of equal ones.

    `calls` are positions in the structure's calls, `operations` counts those directly inside.
    """

    id: str
    calls: list[int]
    parent: _Group | None
    children: list[_Group] = field(default_factory=list)
    operations: int = 0


def fold(structure: Structure, unfolded: Collection[str] = ()) -> FoldedGraph:
    """Show the model's parts as boxes, and those whose id is in `unfolded` by their contents.

    The model itself is always unfolded. Ids that do not exist, or lie in a folded box, change
    nothing. Modules that made no autograd node (dropout in eval mode, frozen layers fed by
    nothing that needs a gradient) are not part of the graph.
    """
    if not structure.operations:
        return FoldedGraph((), (), 0)
    groups = _groups(structure)
    boxes: list[tuple[str, _Group | None]] = []
    for position, operation in enumerate(structure.operations):
        chain = _chain(groups[operation.call or 0])
        folded = next((group for group in chain if group.id not in unfolded), None)
        boxes.append((folded.id if folded else f"op{position}", folded))
    edges = dict.fromkeys(
        (boxes[a][0], boxes[b][0]) for a, b in structure.edges if boxes[a][0] != boxes[b][0]
    )
    nodes: dict[str, FoldedNode] = {}
    for position, (id_, group) in enumerate(boxes):
        if id_ not in nodes:
            nodes[id_] = (
                _group_node(structure, group)
                if group
                else _operation_node(structure, position, groups)
            )
    hidden = sum(group is not None for _, group in boxes)
    # Operations are stored from the loss backwards; boxes read from the input on.
    return FoldedGraph(tuple(reversed(nodes.values())), tuple(reversed(edges)), hidden)


def _chain(group: _Group) -> list[_Group]:
    """The boxes around and including `group`, outermost first, without the model itself."""
    chain = []
    outer: _Group | None = group
    while outer is not None and outer.parent is not None:
        chain.append(outer)
        outer = outer.parent
    return chain[::-1]


def _groups(structure: Structure) -> list[_Group]:
    """The box of every call. Equal neighbours get a box of their own around them."""
    calls = structure.calls
    children: dict[int, list[int]] = defaultdict(list)
    for position, call in enumerate(calls[1:], 1):
        # Without a parent, a loss has called a part of the model after the model's own call.
        children[call.parent or 0].append(position)
    shapes: dict[int, object] = {}  # of the tree of modules inside each call
    for position in range(len(calls) - 1, -1, -1):  # children come after their parents
        shapes[position] = (calls[position].type, *(shapes[c] for c in children[position]))
    repeated = {call.name for call in calls if call.call}
    by_position: dict[int, _Group] = {}

    def add(position: int, parent: _Group | None) -> _Group:
        group = _Group(_id(calls[position], repeated), [position], parent)
        by_position[position] = group
        if parent is not None:
            parent.children.append(group)
        return group

    pending = [add(0, None)]
    while pending:
        group = pending.pop()
        for _, run in groupby(children[group.calls[0]], key=shapes.__getitem__):
            members = list(run)
            around = group
            again = len({calls[position].name for position in members}) == 1  # as a cell in time
            if len(members) >= REPEATS and (again or children[members[0]]):
                first, last = (_id(calls[members[i]], repeated) for i in (0, -1))
                around = _Group(f"{first}…{last.rpartition('.')[2]}", members, group)
                group.children.append(around)
            pending += [add(position, around) for position in members]
    groups = [by_position[position] for position in range(len(calls))]
    for operation in structure.operations:
        groups[operation.call or 0].operations += 1
    return groups


def blocks(structure: Structure) -> dict[str, tuple[str, ...]]:
    """The ids of all boxes that unfold, outer ones first, each with those around it."""
    found: dict[str, tuple[str, ...]] = {}
    for group in _groups(structure):
        chain = _chain(group)
        for depth, box in enumerate(chain):
            if box.children or box.operations > 1:
                found[box.id] = tuple(outer.id for outer in chain[:depth])
    return dict(sorted(found.items(), key=lambda block: len(block[1])))


def boxes_around(structure: Structure, name: str, call: int = 0) -> tuple[str, ...]:
    """The ids of the boxes around and including this call of a module, outermost first; empty for
    the model itself and for what is not there."""
    groups = zip(structure.calls, _groups(structure), strict=True)
    group = next((g for one, g in groups if (one.name, one.call) == (name, call)), None)
    return tuple(box.id for box in _chain(group)) if group is not None else ()


def first_unfolded(structure: Structure) -> frozenset[str]:
    """Unfold the most expensive blocks until a few modules are shown."""
    unfolded: frozenset[str] = frozenset()
    calls = structure.calls
    parents = {calls[call.parent].name for call in calls if call.parent is not None}
    while True:
        nodes = fold(structure, unfolded).nodes
        if sum(n.kind in ("module", "repeat") for n in nodes) >= MIN_MODULES:
            return unfolded
        closed = [
            n
            for n in nodes
            if n.unfolds
            and n.count <= limits.MOST_REPEATS
            and (n.kind == "repeat" or n.id in parents)
        ]
        if not closed:
            return unfolded
        unfolded |= {max(closed, key=lambda node: node.macs or 0).id}


def in_order(structure: Structure) -> Structure:
    """The calls of a run that failed, of which there is no graph: each that called no other stands
    for what it did, and leads to the next one."""
    parents = {call.parent for call in structure.calls}
    inner = [i for i in range(len(structure.calls)) if i not in parents]
    operations = [Operation(structure.calls[i].type, i) for i in reversed(inner)]
    edges = [(i + 1, i) for i in range(len(inner) - 1)]
    return replace(structure, operations=tuple(operations), edges=tuple(edges))


def _id(call: ModuleCall, repeated: set[str]) -> str:
    name = call.name or "(model)"
    return f"{name} #{call.call + 1}" if call.name in repeated else name


def _group_node(structure: Structure, group: _Group) -> FoldedNode:
    calls = [structure.calls[position] for position in group.calls]
    prefixes = tuple(f"{call.name}." for call in calls)
    names = [name for name in structure.params if name.startswith(prefixes)]
    norms = [structure.norms[name] for name in names if name in structure.norms]
    macs = [call.macs for call in calls if call.macs is not None]
    run = len(calls) > 1
    return FoldedNode(
        id=group.id,
        kind="repeat" if run else "module",
        name=group.id,
        type=f"{len(calls)} × {calls[0].type}" if run else calls[0].type,
        inside=tuple(outer.id for outer in _chain(group)[:-1]),
        count=len(calls),
        unfolds=bool(group.children) or group.operations > 1,
        params=sum(structure.params[name] for name in names),
        macs=sum(macs) if macs else None,
        norm=math.hypot(*norms) if norms else None,
        output_shape=calls[-1].output_shape,
    )


def _operation_node(structure: Structure, position: int, groups: list[_Group]) -> FoldedNode:
    operation = structure.operations[position]
    inside = tuple(group.id for group in _chain(groups[operation.call or 0]))
    name = operation.parameter
    if name is None:
        return FoldedNode(f"op{position}", "operation", operation.name, "", inside)
    return FoldedNode(
        id=f"op{position}",
        kind="parameter",
        name=name,
        type="",
        inside=inside,
        params=structure.params.get(name),
        norm=structure.norms.get(name),
    )


# -- as DOT text, in the colours and fonts of the other graphs ------------------------------------

#: The CSS class of each kind of box in the SVG: the names that all graphs use.
CLASSES = {"module": "block", "repeat": "block", "operation": "function", "parameter": "leaf"}
#: What a graph can be coloured by: white at zero, the full colour at the largest box.
COLOURS: dict[str, tuple[Callable[[FoldedNode], float | None], RGB]] = {
    "MACs": (lambda node: node.macs, LARGEST_VALUE["MACs"]),
    "parameters": (lambda node: node.params, LARGEST_VALUE["parameters"]),
    "gradient norm": (lambda node: node.norm, LARGEST_VALUE["gradient norm"]),
}
_MAX_LENGTH = 48


def folded_dot(
    graph: FoldedGraph,
    colour: str | None = None,
    *,
    names: Mapping[str, str] | None = None,
    failed: Collection[str] = (),
) -> str:
    """The graph as Graphviz source; box number i of `graph.nodes` has the id "n{i}", or the one in
    `names`, which also has ids for the frames. Boxes that `failed` say so.

    `colour` is a key of `COLOURS`: boxes are then filled in proportion to that number, grey where
    it is not known, and their class says "heat". Unfolded modules are drawn as frames around what
    is in them. Names are escaped for graphviz's HTML labels.
    """
    ids = names or {node.id: f"n{i}" for i, node in enumerate(graph.nodes)}
    lines = [
        "digraph {",
        '  graph [bgcolor="transparent" ranksep="0.2" nodesep="0.25" fontname="monospace"'
        f' fontsize="10" fontcolor="{FAINT}"]',
        '  node [shape="box" style="filled,rounded" fontname="monospace" fontsize="10"'
        f' fontcolor="{TEXT}" color="{LINE}" margin="0.08,0.025" height="0.2"]',
        f'  edge [color="{LINE}" arrowsize="0.7"]',
        *_boxes(graph, ids, _fills(graph, colour), colour is not None, failed),
    ]
    for source, target in graph.edges:
        a, b = ids[source], ids[target]
        lines.append(f'  {a} -> {b} [id="{a}-{b}"]')
    return "\n".join([*lines, "}"]) + "\n"


def _fills(graph: FoldedGraph, colour: str | None) -> list[str]:
    if colour is None:
        return [FILLS[CLASSES[node.kind]] for node in graph.nodes]
    measure, full = COLOURS[colour]
    values = [measure(node) for node in graph.nodes]
    largest = max((value for value in values if value), default=0) or 1
    return [FILLS["function"] if v is None else _blend(full, v / largest) for v in values]


def _blend(full: RGB, fraction: float) -> str:
    fraction = fraction if 0 <= fraction <= 1 else 1.0  # also for NaN
    return "#" + "".join(f"{round(255 + (c - 255) * fraction):02x}" for c in full)


def _boxes(
    graph: FoldedGraph,
    ids: Mapping[str, str],
    fills: list[str],
    coloured: bool,
    failed: Collection[str],
) -> list[str]:
    """The boxes, nested in one cluster for each unfolded module."""
    inner: dict[tuple[str, ...], list[tuple[FoldedNode, str]]] = {}
    for node, fill in zip(graph.nodes, fills, strict=True):
        for depth in range(len(node.inside) + 1):
            inner.setdefault(node.inside[:depth], [])
        inner[node.inside].append((node, fill))
    paths = sorted(inner)  # a frame comes right before what it encloses
    lines = []
    opened: tuple[str, ...] = ()
    for count, path in enumerate(paths):
        while opened != path[: len(opened)]:
            opened = opened[:-1]
            lines.append("  }")
        if path:
            opened = path
            label = f'label=<{_text(path[-1])}> labeljust="l" style="rounded" color="{LINE}"'
            if path[-1] in ids:  # then its title can be pressed
                label = f'id="{ids[path[-1]]}" class="frame" {label}'
            lines.append(f"  subgraph cluster_{count} {{ {label}")
        for node, fill in inner[path]:
            name, has_failed = ids[node.id], node.id in failed
            kind = CLASSES[node.kind] + " heat" * coloured + " failed" * has_failed
            text = _label(node, has_failed)
            lines.append(f'  {name} [id="{name}" class="{kind}" fillcolor="{fill}" label=<{text}>]')
    return [*lines, *["  }"] * len(opened)]


def _label(node: FoldedNode, has_failed: bool) -> str:
    rows = [f"<B>{_text(node.name)}</B>"]
    if has_failed:
        rows.append(f'<FONT COLOR="{GRADIENT}">the error is here</FONT>')
    shape = "" if node.output_shape is None else str(node.output_shape).replace(", ", "×")
    if node.type:
        rows.append(f'<FONT COLOR="{FAINT}">{_text(f"{node.type} {shape}".strip())}</FONT>')
    facts = [
        f"{_short(node.params)} parameters" if node.params else "",
        f"{_short(node.macs)} MACs" if node.macs else "",
        "" if node.norm is None else f"gradient norm {node.norm:.4g}",
    ]
    rows += [fact for fact in facts if fact]
    cells = "".join(f'<TR><TD ALIGN="LEFT">{row}</TD></TR>' for row in rows)
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{cells}</TABLE>'


def _short(number: int) -> str:
    """Three digits and a thousands' suffix: 1234567 is "1.23 M"."""
    for size, suffix in ((10**9, " G"), (10**6, " M"), (10**3, " k")):
        if number >= size:
            return f"{number / size:.3g}{suffix}"
    return str(number)


def _text(text: str) -> str:
    clean = "".join(c if c.isprintable() else " " for c in text)
    short = clean if len(clean) <= _MAX_LENGTH else clean[: _MAX_LENGTH - 1] + "…"
    return escape(short, quote=True) or " "


# -- every node -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class FullGraph:
    """Nodes "n0", "n1", … with the loss's function first, and edges in the direction of
    computation; `explorer.trace.dot_text(nodes, edges, {})` draws them.

    Above `limits.MAX_NODES` nodes, show a folded graph instead.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    error: LayerError | None = None


def full_graph(
    model: nn.Module,
    *inputs: Any,
    loss: Loss | None = None,
    seed: int | None = None,
) -> FullGraph:
    """Run forward once and let torchviz draw the graph of the loss, saved tensors included.

    Arguments as for `inspect`; the model is left as it was. Ids and order are equal from run to
    run. Never raises for what the model does: `error` then says what went wrong.
    """
    with one_pass(model, inputs, loss, seed) as run:
        try:
            total = run.forward()
        except Exception as raised:
            return FullGraph((), (), explain(raised))
        if total.grad_fn is None:
            return FullGraph((), ())
        names: dict[str, Tensor] = dict(model.named_parameters())
        names |= {f"input {i}": t for i, t in enumerate(tensors_in(run.inputs))}
        drawn, pairs = draw_graph([total], names | {"loss": total}, walk_graph([total]))
    nodes = (_full_node(i, node) for i, node in enumerate(drawn))
    return FullGraph(tuple(nodes), tuple(Edge(f"n{a}", f"n{b}", kind) for a, b, kind in pairs))


def _full_node(number: int, drawn: DrawnNode) -> Node:
    """A function has its own name; a tensor the model's name for it, under its kind."""
    if drawn.function is not None:
        return Node(f"n{number}", drawn.kind, drawn.name)
    return Node(f"n{number}", drawn.kind, drawn.kind, drawn.name, drawn.shape)
