"""What the reader has picked: one choice that graph, table and program all show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from explorer.trace import Node, TensorRecord, Trace
from explorer.ui.layout import digest


@dataclass(frozen=True)
class Selection:
    """The node and the tensor that belong together; either may be missing."""

    node: Node | None = None
    tensor: TensorRecord | None = None

    @property
    def line(self) -> int | None:
        """The line of the program that made them."""
        for thing in (self.tensor, self.node):
            if thing is not None and thing.line:
                return thing.line
        return None


class Picker:
    """Keeps the pick of one trace in the session; another program's pick does not count."""

    def __init__(self, key: str, trace: Trace, nodes: Sequence[Node]) -> None:
        self._key = f"{key}.pick"
        self._trace = trace
        self._nodes = nodes
        self._name = digest(trace.source)

    def node(self, name: str | None) -> None:
        """Pick a node of the graph by its id; None lets go."""
        self._keep("node", name)

    def tensor(self, number: int | None) -> None:
        """Pick a tensor by its id; None lets go."""
        self._keep("tensor", number)

    def current(self) -> Selection:
        """What is picked, each with its counterpart."""
        trace_name, kind, value = st.session_state.get(self._key, (None, None, None))
        if trace_name != self._name or value is None:
            return Selection()
        if kind == "node":
            node = next((n for n in self._nodes if n.id == value), None)
            return Selection(node, self._tensor(node.tensor if node else None))
        tensor = self._tensor(value)
        return Selection(self._node(tensor) if tensor else None, tensor)

    def _tensor(self, number: int | None) -> TensorRecord | None:
        return next((t for t in self._trace.tensors if t.id == number), None)

    def _node(self, tensor: TensorRecord) -> Node | None:
        """The node that made the tensor, or the folded block of its line."""
        block = f"line{tensor.line}"
        made = (n for n in self._nodes if n.tensor == tensor.id)
        return next(made, next((n for n in self._nodes if n.id == block), None))

    def _keep(self, kind: str, value: str | int | None) -> None:
        st.session_state[self._key] = (self._name, kind, value)
