"""What is known of the chosen node: who made it, the gradient in, the gradients out."""

from __future__ import annotations

from html import escape

import streamlit as st

from explorer.trace import BackwardPass, BackwardStep, Node
from explorer.ui import values
from explorer.ui.selection import Selection


def detail(selection: Selection, shown: BackwardPass | None) -> None:
    """Draw the chosen node's part in the backward pass; nothing where none is chosen."""
    if selection.node is None or shown is None:
        return
    step = next((s for s in shown.steps if s.node == selection.node.id), None)
    st.html(as_html(selection.node, step, {node.id: node for node in shown.nodes}))


def as_html(node: Node, step: BackwardStep | None, nodes: dict[str, Node]) -> str:
    """The detail as a small table; every text in it is escaped."""
    rows = []
    if step:
        rows += [("gradient in", grad) for grad in step.grads_in]
        rows += [
            (f"to {_short(nodes[flow.to])}", flow.grad)
            for flow in step.grads_out
            if flow.to in nodes
        ]
    body = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(values.text(grad))}</dd>" for name, grad in rows
    )
    where = f" · line {node.line}" if node.line else ""
    head = f"<b>{escape(_short(node))}</b><span>{escape(node.name + where)}</span>"
    return f'<div class="ax-detail-box"><div>{head}</div><dl>{body}</dl></div>'


def _short(node: Node) -> str:
    return node.label or node.name
