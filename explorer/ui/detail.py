"""What is known of the chosen node: who made it, the gradient in, the gradients out."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np
import streamlit as st

from explorer.trace import Array, BackwardPass, Node, Plain, Summary
from explorer.ui import values
from explorer.ui.selection import Selection


def detail(picked: Selection, shown: BackwardPass) -> None:
    """Draw the picked node's part in the backward pass, and why the tensor's .grad is None."""
    if picked.node is not None:
        st.html(as_html(picked.node, shown))
    if picked.tensor is not None and picked.tensor.why_none:
        st.html(f'<div class="ax-note">.grad is None: {escape(picked.tensor.why_none)}</div>')


def as_html(node: Node, shown: BackwardPass) -> str:
    """The detail in a row that wraps; every text in it is escaped."""
    rows = "".join(
        f'<div><span>{escape(name)}</span><div class="ax-value">{escape(text)}</div></div>'
        for name, text in _rows(node, shown)
    )
    where = f" · line {node.line}" if node.line else ""
    head = f"<b>{escape(node.label or node.name)}</b><span>{escape(node.name + where)}</span>"
    return f'<div class="ax-node"><div>{head}</div>{rows}</div>'


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
