"""What the reader has picked: one choice that graph, table and program all show."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from explorer.trace import BackwardPass, Node, TensorRecord, Trace
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

    def __init__(self, key: str, trace: Trace, shown: BackwardPass | None) -> None:
        self._key = f"{key}.pick"
        self._trace = trace
        self._shown = shown
        self._name = digest(f"{trace.source}\0{shown.number if shown else ''}")

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
        nodes = self._shown.nodes if self._shown else ()
        if kind == "node":
            node = next((n for n in nodes if n.id == value), None)
            number = node.tensor if node else None
        else:
            number = value
            node = next((n for n in nodes if n.tensor == value and n.kind != "accumulate"), None)
        tensor = next((t for t in self._trace.tensors if t.id == number), None)
        return Selection(node, tensor)

    def _keep(self, kind: str, value: str | int | None) -> None:
        st.session_state[self._key] = (self._name, kind, value)
