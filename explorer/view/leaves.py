"""The leaves of a program: those whose numbers stand in its text, and a colour for each name."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.program.literals import Literal, leaf_literals
from explorer.trace import Node, TensorRecord, Trace
from explorer.trace.colours import LEAVES
from explorer.view.tensors import shown_tensors


@dataclass(frozen=True)
class TextLeaf:
    """A number or a vector that the program makes of `literals` in its text, one for each element,
    and trains. The gradient of its `record` is the one that the table shows."""

    record: TensorRecord
    literals: tuple[Literal, ...]

    @property
    def value(self) -> float | list[float]:
        """The numbers in the text."""
        numbers = [literal.value for literal in self.literals]
        return numbers if self.record.shape else numbers[0]


def text_leaves(trace: Trace) -> dict[str, TextLeaf]:
    """By name, the leaves made of literals; of several with one name, the last."""
    literals: dict[tuple[str, int | None], list[Literal]] = defaultdict(list)
    for literal in leaf_literals(trace.source):
        literals[literal.name, literal.start].append(literal)
    if not literals:
        return {}
    found = {}
    for record in shown_tensors(trace):
        own = literals.get((record.name, record.line), [])
        if (
            own
            and _is_leaf(record)
            and record.name not in trace.inputs
            and len(record.shape) < 2
            and len(own) == math.prod(record.shape)
            and [literal.index for literal in own] == list(np.ndindex(record.shape))
            and all(math.isfinite(literal.value) for literal in own)
        ):
            found[record.name] = TextLeaf(record, tuple(own))
    return found


def leaf_colours(trace: Trace) -> dict[str, int]:
    """By name, which of `colours.LEAVES` ties a leaf together wherever its name stands, in the
    order in which they appear. None where there is one leaf only, or more than colours; nor has a
    name one that also means something else in this program."""
    named = [record for record in trace.tensors if record.named]
    names = dict.fromkeys(record.name for record in named if _is_leaf(record))
    if not 2 <= len(names) <= len(LEAVES["light"]):
        return {}
    others = {record.name for record in named if not record.is_leaf}
    return {name: i for i, name in enumerate(names) if name not in others}


def node_colours(trace: Trace, nodes: Sequence[Node]) -> Mapping[str, int]:
    """The same by the ids of the nodes of a graph that are leaves."""
    colours = leaf_colours(trace)
    names = {record.id: record.name for record in trace.tensors} if colours else {}
    return {
        node.id: colours[name]
        for node in nodes
        if node.kind == "leaf"
        and node.tensor is not None
        and (name := names.get(node.tensor)) in colours
    }


def _is_leaf(record: TensorRecord) -> bool:
    return record.is_leaf and record.requires_grad
