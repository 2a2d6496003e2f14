"""The graph of one backward pass as DOT, with the numbers it left and what the program's hooks did
to them, and what its nodes have to do with the rest of the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from explorer import limits
from explorer.trace import dot_text, fold
from explorer.trace.recording.pass_graph import node_numbers
from explorer.trace.records import Array, BackwardPass, Event, Node, TensorRecord, Trace, Unkept
from explorer.trace.text import array_lines, shape_text
from explorer.view.graph import Links, inputs_of

#: Most characters of the gradient before and after in a node's label.
_WIDTH = 34


@dataclass(frozen=True)
class DrawnPass:
    """A graph ready to be laid out. `folded` says whether it has too many nodes, so that each line
    is a block; those in `unfolded` are expanded. `links` are to the table and the program."""

    dot: str
    nodes: tuple[Node, ...]
    unfolded: frozenset[str]
    folded: bool
    links: Links


def make_graph(
    trace: Trace, shown: BackwardPass, *, saved: bool, unfolded: frozenset[str] = frozenset()
) -> DrawnPass:
    """The graph of a pass, without what operations save for backward unless `saved`. A large one is
    folded, but for the blocks `unfolded`."""
    hide = () if saved else ("saved",)
    nodes = [node for node in shown.nodes if node.kind not in hide]
    edges = list(shown.edges)
    folded = len(nodes) > limits.MAX_NODES
    if folded:
        nodes, edges = fold(nodes, edges, unfolded)
    hooked = hooked_tensors(trace, shown)
    labels = {number: hooks.label for number, hooks in hooked.items()}
    dot = dot_text(nodes, edges, records_after(trace, shown), hide=hide, hooks=labels)
    places = {node.id: (_tensor_of(node, shown), node.line) for node in nodes}
    notes = {n.id: hooked[n.tensor].sentence for n in nodes if n.tensor in hooked}
    return DrawnPass(dot, tuple(nodes), unfolded, folded, Links(places, notes))


def numbers_of(trace: Trace, shown: BackwardPass) -> Mapping[str, Any]:
    """The numbers in the nodes of a pass, which follow a drag."""
    labels = {number: hooks.label for number, hooks in hooked_tensors(trace, shown).items()}
    return node_numbers(shown.nodes, records_after(trace, shown), labels)


def _tensor_of(node: Node, shown: BackwardPass) -> int | None:
    """The id of a node's tensor; of an AccumulateGrad, its leaf's."""
    if node.kind != "accumulate":
        return node.tensor
    return next((leaf.tensor for leaf in inputs_of(node.id, shown)), None)


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
