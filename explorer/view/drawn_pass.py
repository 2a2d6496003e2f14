"""The graph of one backward pass as DOT, with the numbers it left and what the program's hooks did
to them, and what its nodes have to do with the rest of the page.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from explorer import limits
from explorer.trace import dot_text
from explorer.trace.recording.pass_graph import node_numbers
from explorer.trace.records import (
    Array,
    BackwardPass,
    Edge,
    Event,
    Node,
    TensorRecord,
    Trace,
    Unkept,
)
from explorer.trace.text import array_lines, shape_text
from explorer.training.views import GraphView
from explorer.view import node_words
from explorer.view.edge_factors import EdgeFactor, edge_factors, listed, program_names
from explorer.view.fold import NO_FOLDS, Folds, fold, folds_of
from explorer.view.graph import Links, describe

#: Most characters of the gradient before and after in a node's label.
_WIDTH = 34


@dataclass(frozen=True)
class DrawnPass:
    """A graph ready to be laid out, and the same with the factors on its edges.

    `folds` are the blocks of one that is folded, and those in `unfolded` are open. `where` is the
    node drawn for one of the pass that is not: for an AccumulateGrad its leaf, for a hidden node
    its block. `links` are to the table and the program, `names` those by which nodes and blocks
    are found, hidden or not, by their ids.
    """

    dot: str
    with_factors: str
    nodes: tuple[Node, ...]
    unfolded: frozenset[str]
    folds: Folds
    where: Mapping[str, str]
    links: Links
    names: Mapping[str, str] | None


def make_graph(
    trace: Trace,
    shown: BackwardPass,
    *,
    saved: bool,
    unfolded: frozenset[str] | None = None,
    torch_names: bool = False,
    asked: Collection[str] = (),
) -> DrawnPass:
    """The graph of a pass, without what operations save for backward unless `saved`. A large one,
    or that of a training script, is folded; the blocks `unfolded` are open, or as many as can be
    read at once. Nodes have the reader's words, or with `torch_names` PyTorch's. The factors on the
    edges `asked` are not told."""
    return PassGraph(trace, shown, saved=saved, torch_names=torch_names, asked=asked).draw(unfolded)


class PassGraph:
    """The graph of a pass as `make_graph` makes it, of which several foldings can be drawn."""

    def __init__(
        self,
        trace: Trace,
        shown: BackwardPass,
        *,
        saved: bool = False,
        torch_names: bool = False,
        asked: Collection[str] = (),
    ) -> None:
        self.shown, self._torch_names, self._asked = shown, torch_names, asked
        self._place = trace.place
        self.boxes = leaf_boxes(shown)
        self._nodes, self._edges = _without(shown, self.boxes, () if saved else ("saved",))
        self._records = records_after(trace, shown)
        self.folds = NO_FOLDS
        if len(self._nodes) > limits.MAX_NODES or opens_on_modules(trace, shown):
            self.folds = folds_of(
                self._nodes, self._edges, self._records, trace.source, trace.place
            )
        self._hooked = hooked_tensors(trace, shown)
        self._steps = {step.node: step for step in shown.steps}

    def draw(self, unfolded: frozenset[str] | None = None) -> DrawnPass:
        """With these blocks open, or as many as can be read at once."""
        shown, folds, hooked = self.shown, self.folds, self._hooked
        unfolded = folds.opening() if unfolded is None else unfolded & folds.blocks.keys()
        unfolded = folds.drawable(unfolded)
        nodes, dot = self._folded(unfolded)
        where = dict(self.boxes)
        for node in shown.nodes:
            place = folds.place(where.get(node.id, node.id), unfolded)
            if place != node.id:
                where[node.id] = place
        factors = {} if folds.blocks else factors_of(shown, where, self._asked)
        places = {node.id: (node.tensor, node.line) for node in nodes}
        notes = {n.id: hooked[n.tensor].sentence for n in nodes if n.tensor in hooked}
        return DrawnPass(
            dot(),
            dot(factors=factors) if factors else "",
            tuple(nodes),
            unfolded,
            folds,
            where,
            Links(places, notes),
            self.names() if folds.blocks else None,
        )

    def dot(self, unfolded: frozenset[str]) -> str:
        """The graph alone, with these blocks open."""
        return self._folded(unfolded)[1]()

    def _folded(self, unfolded: frozenset[str]) -> tuple[list[Node], Callable[..., str]]:
        """The nodes that are drawn, and what makes DOT of them."""
        nodes, edges = fold(self._nodes, self._edges, self.folds, unfolded)
        blocks = self.folds.blocks.values()
        return nodes, partial(
            dot_text,
            nodes,
            edges,
            self._records,
            hooks={number: hooks.label for number, hooks in self._hooked.items()},
            heads={node.id: self._head(node) for node in nodes if node.kind != "block"},
            norms={b.id: f"gradient norm {b.norm:.4g}" for b in blocks if b.norm is not None},
            frames={b.id: (b.label, b.parts) for b in blocks if self.folds.is_open(b, unfolded)},
        )

    def names(self) -> dict[str, str]:
        """What the graph is searched by: its blocks, the nodes with a name of the program's, and
        others."""
        folds = self.folds
        blocks = [b for b in folds.blocks.values() if b.kind not in ("iteration", "part")]
        found = [(block.id, f"{block.label} · {block.size}") for block in blocks]
        listed = [node for node in self.shown.nodes if node.kind not in ("saved", "accumulate")]
        for node in sorted(listed, key=lambda node: not node.label):
            around = folds.around(node.id)
            inside = f" · in {folds.blocks[around[-1]].label}" if around else ""
            found.append((node.id, describe(node, self._place) + inside))
        times: Counter[str] = Counter()
        names = {}
        for name, text in found[: limits.MOST_FOUND]:
            times[text] += 1
            names[name] = f"{text} ({times[text]})" if times[text] > 1 else text
        return names

    def _head(self, node: Node) -> tuple[str, str]:
        step = self._steps.get(node.id)
        return node_words.head(
            node,
            step,
            program_names(self.shown).of(step).get("a", "") if step is not None else "",
            named=_is_named(node, self._records),
            torch_names=self._torch_names,
        )

    def foldings(self) -> list[frozenset[str]]:
        """What may be open at a time: as it opens, with one more block, outer ones first, with one
        less, all closed, and all open, where that are not too many nodes."""
        folds = self.folds
        first = folds.drawable(folds.opening())
        more = [folds.opened(name, first) for name in folds.blocks]
        less = [folds.closed(name, first) for name in first]
        wanted = dict.fromkeys(
            [first, *less, frozenset(), *more[: limits.MOST_LAYOUTS], frozenset(folds.blocks)]
        )
        return [unfolded for unfolded in wanted if folds.count(unfolded) <= limits.MAX_NODES]


def opens_on_modules(trace: Trace, shown: BackwardPass) -> bool:
    """Whether the graph is that of a training script: it has modules, and an optimizer steps."""
    modules = {node.module for node in shown.nodes if node.kind == "function" and node.module}
    return len(modules) > 1 and any(event.kind == "step" for event in trace.events)


def graph_of_names(shown: GraphView) -> str:
    """The graph of a session as DOT: the reader's words and no numbers, so that it stays the same
    from press to press, and is laid out once; empty if there is none."""
    if not shown.nodes:
        return ""
    nodes, edges = _without(shown, leaf_boxes(shown), ("saved",))
    heads = {
        node.id: node_words.head(node, None, "", named=True, torch_names=False) for node in nodes
    }
    return dot_text(nodes, edges, {}, heads=heads)


def leaf_boxes(shown: BackwardPass | GraphView) -> dict[str, str]:
    """By the id of each AccumulateGrad, its leaf's, in whose box it is drawn."""
    leaves = {node.id for node in shown.nodes if node.kind == "leaf"}
    adding = {node.id for node in shown.nodes if node.kind == "accumulate"}
    ways = ((edge.target, edge.source) for edge in shown.edges if edge.source in leaves)
    return {node: leaf for node, leaf in ways if node in adding}


def _without(
    shown: BackwardPass | GraphView, where: Mapping[str, str], hide: Collection[str]
) -> tuple[list[Node], list[Edge]]:
    """The nodes and edges that are drawn: each AccumulateGrad is its leaf."""
    nodes = [node for node in shown.nodes if node.kind not in hide and node.id not in where]
    drawn = {node.id for node in nodes}
    edges: dict[tuple[str, str], Edge] = {}
    for edge in sorted(shown.edges, key=lambda edge: edge.kind != "flow"):
        ends = where.get(edge.source, edge.source), where.get(edge.target, edge.target)
        if ends[0] != ends[1] and drawn.issuperset(ends):
            edges.setdefault(ends, Edge(*ends, edge.kind))
    return nodes, list(edges.values())


def _is_named(node: Node, records: Mapping[int, TensorRecord]) -> bool:
    """Whether the program has a name for the node's tensor."""
    record = None if node.tensor is None else records.get(node.tensor)
    return record is None or record.named


def numbers_of(
    trace: Trace, shown: BackwardPass, asked: Collection[str] = ()
) -> dict[str, Mapping[str, Any]]:
    """The numbers in the "nodes" of a pass, and the "factors" on its edges, which follow a drag."""
    factors = factors_of(shown, leaf_boxes(shown), asked)
    labels = {number: hooks.label for number, hooks in hooked_tensors(trace, shown).items()}
    return {
        "nodes": node_numbers(shown.nodes, records_after(trace, shown), labels),
        "factors": {"-".join(edge): text for edge, text in factors.items()},
    }


def factors_of(
    shown: BackwardPass, where: Mapping[str, str], asked: Collection[str] = ()
) -> dict[tuple[str, str], str]:
    """What stands on the edges between the nodes drawn; nothing of a graph that is too large, and
    "× ?" on the edges of the pass that an exercise has `asked` for, as "n2-n1"."""
    if len(shown.nodes) > limits.FACTORS_NODES:
        return {}
    found: dict[tuple[str, str], list[EdgeFactor]] = defaultdict(list)
    for (source, target), given in edge_factors(shown).items():
        is_asked = f"{source}-{target}" in asked
        found[where.get(source, source), target] += [EdgeFactor("× ?")] if is_asked else given
    return {edge: listed(given) for edge, given in found.items()}


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


@dataclass(frozen=True)
class Hooked:
    """The hooks of one tensor: `values` are the gradient before the first and after each that
    changed it."""

    values: tuple[Array | Unkept, ...]

    @property
    def label(self) -> str:
        """For the tensor's node: "hook 1 → 10", or "hook" where nothing changed."""
        if len(self.values) == 1:
            return "hook"
        text = " → ".join(map(_text, self.values))
        return f"hook {text}" if len(text) <= _WIDTH else "hook changes it"

    @property
    def sentence(self) -> str:
        """The same with all that is recorded."""
        first, *rest = map(_text, self.values)
        if not rest:
            return f"A hook saw the gradient {first}."
        return f"A hook turned the gradient {first} into {', then '.join(rest)}."


def hooked_tensors(trace: Trace, shown: BackwardPass) -> dict[int, Hooked]:
    """The tensors of a pass whose hooks ran in it, by their ids."""
    calls: dict[str, list[Event]] = {}
    for event in _events_of(trace, shown.number):
        if event.kind == "hook" and event.changes:
            calls.setdefault(event.name, []).append(event)
    if not calls:
        return {}
    records = {record.id: record for record in trace.tensors}
    drawn = dict.fromkeys(n.tensor for n in shown.nodes if n.tensor in records)
    found = {}
    for name, events in calls.items():
        values = _values(events)
        record = _tensor_called(name, [records[i] for i in drawn if i is not None], values)
        if record is not None and values:
            found[record.id] = Hooked(values)
    return found


def _events_of(trace: Trace, number: int) -> list[Event]:
    """The events of a pass: those before its "backward", and after the one before. None where
    events between were not kept."""
    ended, events = 0, []
    for position, event in enumerate(trace.events, start=1):
        if event.number != position:
            return []
        if ended == number - 1:
            events.append(event)
        ended += event.kind == "backward"
    return events


def _values(events: Sequence[Event]) -> tuple[Array | Unkept, ...]:
    """The gradient before the first call, and after each that changed it."""
    values: list[Array | Unkept] = []
    for event in events:
        for value in (event.changes[0].before, event.changes[0].after):
            if value is not None and not (values and _equal(values[-1], value)):
                values.append(value)
    return tuple(values)


def _tensor_called(
    name: str, records: Sequence[TensorRecord], values: Sequence[Array | Unkept]
) -> TensorRecord | None:
    """The tensor of this name; of several (a loop's), that which has the hooks' gradient."""
    named = [record for record in records if record.name == name]
    seen = [record for record in named if any(_equal(record.grad, value) for value in values)]
    return next(iter(seen or named), None)


def _equal(a: Array | Unkept | None, b: Array | Unkept | None) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    return type(a) is type(b) and not isinstance(a, np.ndarray) and a == b


def _text(value: Array | Unkept) -> str:
    if isinstance(value, Unkept):
        return f"{shape_text(value.shape)} numbers"
    return " ".join(line.strip() for line in array_lines(value))
