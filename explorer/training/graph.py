"""The graph that a forward leaves waiting for backward, as torchviz draws it."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from explorer.trace.capture import to_numpy
from explorer.trace.pass_graph import MAX_NODES, dot_text, fold
from explorer.trace.records import Edge, Node, TensorRecord
from explorer.trace.torchviz_graph import draw, walk


def waiting_graph(loss: Tensor, parameters: Mapping[str, Tensor]) -> str:
    """Graphviz source of the graph behind `loss`, leaves named and with value and `.grad`.

    Saved tensors are left out; above `MAX_NODES` nodes the graph is folded.
    """
    functions = walk([loss])
    drawn, arrows = draw([loss], dict(parameters), functions)
    kept = {i for i, node in enumerate(drawn) if node.kind != "saved"}
    records = {i: _record(i, name, p) for i, (name, p) in enumerate(parameters.items())}
    records[len(records)] = _record(len(records), "loss", loss)
    by_name = {record.name: i for i, record in records.items()}
    nodes = []
    for i in sorted(kept):
        node = drawn[i]
        name = {"leaf": node.name, "output": "loss"}.get(node.kind, "")
        kind = node.name if node.function is not None else node.kind
        nodes.append(Node(f"n{i}", node.kind, kind, name, node.shape, by_name.get(name)))
    edges = [Edge(f"n{a}", f"n{b}", kind) for a, b, kind in arrows if {a, b} <= kept]
    shown = (nodes, edges) if len(nodes) <= MAX_NODES else fold(nodes, edges)
    return dot_text(*shown, records)


def _record(number: int, name: str, tensor: Tensor) -> TensorRecord:
    grad = tensor.grad if tensor.is_leaf else None
    return TensorRecord(
        id=number,
        name=name,
        line=0,
        shape=tuple(tensor.shape),
        dtype=str(tensor.dtype),
        requires_grad=True,
        is_leaf=tensor.is_leaf,
        retains_grad=False,
        grad_fn=None,
        value=to_numpy(tensor),
        grad=None if grad is None else to_numpy(grad),
    )
