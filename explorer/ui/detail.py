"""What is known of the chosen node: who made it, the gradient in, the gradients out."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np
import streamlit as st

from explorer.trace import Array, BackwardPass, Node, Plain, Summary
from explorer.ui import values


def detail(node: Node | None, shown: BackwardPass) -> None:
    """Draw the node's part in the backward pass; nothing where none is chosen."""
    if node is not None:
        st.html(as_html(node, shown))


def as_html(node: Node, shown: BackwardPass) -> str:
    """The detail as a small table; every text in it is escaped."""
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in _rows(node, shown)
    )
    where = f" · line {node.line}" if node.line else ""
    head = f"<b>{escape(node.label or node.name)}</b><span>{escape(node.name + where)}</span>"
    return f'<div class="ax-detail-box"><div>{head}</div><dl>{rows}</dl></div>'


def _rows(node: Node, shown: BackwardPass) -> Iterator[tuple[str, str]]:
    for step in shown.steps:
        if step.node == node.id:
            for grad in step.grads_in:
                yield "gradient in", values.text(grad)
            for flow in step.grads_out:
                if flow.to is not None:
                    yield f"to {_receiver(flow.to, shown)}", values.text(flow.grad)
            for name, value in step.saved.items():
                if value is not None and "_sym_" not in name:
                    yield f"saved {name}", _text(value)


def _receiver(name: str, shown: BackwardPass) -> str:
    """The tensor a gradient goes to: behind AccumulateGrad that is a leaf's .grad."""
    nodes = {node.id: node for node in shown.nodes}
    if name in nodes and nodes[name].kind == "accumulate":
        leaves = (nodes[edge.source].label for edge in shown.edges if edge.target == name)
        return f"{next(leaves, 'a leaf')}.grad"
    return nodes[name].label or nodes[name].name if name in nodes else "elsewhere"


def _text(value: Array | Plain) -> str:
    if isinstance(value, np.ndarray | Summary):
        return values.text(value)
    return repr(value)[:200]
