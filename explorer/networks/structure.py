"""The autograd graph of a recorded run, each node mapped to the module call that made it."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import torch
from torch import Tensor, nn

from explorer.networks.recorder import Visit
from explorer.networks.records import Call, Operation

_Node = torch.autograd.graph.Node


def calls(visits: list[Visit]) -> tuple[Call, ...]:
    """The calls as plain data; MACs are half the counted operations."""
    return tuple(
        Call(
            v.name, v.call, type(v.module).__name__, v.parent, v.flops // 2 or None, v.output_shape
        )
        for v in visits
    )


def operations(
    root: Tensor, visits: list[Visit], model: nn.Module
) -> tuple[tuple[Operation, ...], tuple[tuple[int, int], ...]]:
    """All nodes of the graph behind `root`, and its edges in the direction of computation.

    A node belongs to the innermost call during which it was made. A parameter's accumulating node
    belongs to the innermost call that contains everything it is used for.
    """
    if root.grad_fn is None:
        return (), ()
    nodes, edges = _walk(root.grad_fn)
    names = {id(p): name for name, p in model.named_parameters()}
    starts = [v.start for v in visits]
    owner: dict[int, int | None] = {}
    for position, node in enumerate(nodes):
        if not hasattr(node, "variable"):
            owner[position] = _innermost(node._sequence_nr(), starts, visits)
    for source, target in edges:
        if hasattr(nodes[source], "variable"):  # made by no call: parameters and inputs
            place = owner[target]
            owner[source] = _common(owner.get(source, place), place, visits)
    found = tuple(
        Operation(node.name(), owner.get(i), _parameter(node, names))
        for i, node in enumerate(nodes)
    )
    return found, tuple(edges)


def _walk(root: Any) -> tuple[list[Any], list[tuple[int, int]]]:
    positions: dict[Any, int] = {root: 0}
    nodes, edges = [root], []
    for node in nodes:  # grows while it is walked
        for source, _ in node.next_functions:
            if source is None:
                continue
            if source not in positions:
                positions[source] = len(nodes)
                nodes.append(source)
            edges.append((positions[source], positions[node]))
    return nodes, edges


def _innermost(number: int, starts: list[int], visits: list[Visit]) -> int | None:
    """The deepest call whose span holds the sequence number; None for the loss after the model."""
    place: int | None = bisect_right(starts, number) - 1
    while place is not None and place >= 0 and number >= visits[place].end:
        place = visits[place].parent
    return None if place == -1 else place


def _common(a: int | None, b: int | None, visits: list[Visit]) -> int | None:
    """The innermost call that contains both. A parent comes before its children."""
    while a != b:
        if a is None or b is None:
            return None
        if a > b:
            a = visits[a].parent
        else:
            b = visits[b].parent
    return a


def _parameter(node: Any, names: dict[int, str]) -> str | None:
    variable = getattr(node, "variable", None)
    return None if variable is None else names.get(id(variable), "input")
