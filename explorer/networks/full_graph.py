"""A model's whole autograd graph as torchviz draws it, for models small enough to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from explorer.networks.error_messages import explain
from explorer.networks.inspection import copied, scalar_loss
from explorer.networks.preserve import preserved
from explorer.networks.recorder import tensors_in
from explorer.networks.records import LayerError
from explorer.trace.records import Edge, Node
from explorer.trace.torchviz_graph import Drawn, draw, walk


@dataclass(frozen=True)
class FullGraph:
    """Nodes "n0", "n1", … with the loss's function first, and edges in the direction of
    computation; `explorer.trace.dot_text(nodes, edges, {})` is their picture.

    Above `explorer.trace.MAX_NODES` nodes, show a folded graph instead.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    error: LayerError | None = None


def full_graph(
    model: nn.Module,
    *inputs: Any,
    loss: Callable[[Any], Tensor] | None = None,
    seed: int | None = None,
) -> FullGraph:
    """Run forward once and let torchviz draw the graph of the loss, saved tensors included.

    Arguments as for `inspect`; the model is left as it was. Ids and order are equal from run to
    run. Never raises for what the model does: `error` then says what went wrong.
    """
    passed = tuple(copied(value) for value in inputs)
    with preserved(model, seed) as watch, torch.enable_grad():
        try:
            with watch:
                output = model(*passed)
            total = scalar_loss(output, loss)
        except Exception as raised:
            return FullGraph((), (), explain(raised))
        if total.grad_fn is None:
            return FullGraph((), ())
        names: dict[str, Tensor] = dict(model.named_parameters())
        names |= {f"input {i}": t for i, t in enumerate(tensors_in(passed))}
        drawn, pairs = draw([total], names | {"loss": total}, walk([total]))
    nodes = (_node(i, node) for i, node in enumerate(drawn))
    return FullGraph(tuple(nodes), tuple(Edge(f"n{a}", f"n{b}", kind) for a, b, kind in pairs))


def _node(number: int, drawn: Drawn) -> Node:
    """Functions go by their own name; tensors by the model's for them, under what they are."""
    if drawn.function is not None:
        return Node(f"n{number}", drawn.kind, drawn.name)
    return Node(f"n{number}", drawn.kind, drawn.kind, drawn.name, drawn.shape)
