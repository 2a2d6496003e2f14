"""What the reader picks: one selection that graph, walk, table and program all show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from explorer.trace import BackwardPass, Node, TensorRecord, Trace
from explorer.trace.text import digest
from explorer.ui.expression.program import ProgramRun
from explorer.view.graph import inputs_of
from explorer.view.tensors import shown_tensors
from explorer.view.walk import Selection, steps_of_nodes

#: The query parameter of the pick.
PARAMETER = "at"


class Picker:
    """Keeps the pick of one trace in the session and in the link (`?at=`).

    A pick of another program is ignored. `nodes` are those drawn of the pass `shown`.
    """

    def __init__(
        self, key: str, trace: Trace, shown: BackwardPass | None, nodes: Sequence[Node]
    ) -> None:
        self._key = f"{key}.pick"
        self._trace, self._shown, self._nodes = trace, shown, nodes
        self._name = digest(trace.source)
        # Without a text, nothing has been run yet: the link is for the first program that is.
        if self._key not in st.session_state and trace.source:
            st.session_state[self._key] = (self._name, st.query_params.get(PARAMETER, ""))

    def node(self, name: str | None) -> None:
        """Pick a node of the graph by its id; None deselects."""
        self._keep(f"node-{name}" if name else "")

    def tensor(self, number: int | None) -> None:
        """Pick a tensor by its id; None deselects."""
        self._keep("" if number is None else f"tensor-{number}")

    def line(self, number: int) -> None:
        """Pick what a line made: its last named tensor, or else any tensor or node of it."""
        made = [t for t in self._trace.tensors if t.line == number]
        made.sort(key=lambda t: t.named)
        node = next((n for n in self._nodes if n.line == number), None)
        if made:
            self.tensor(made[-1].id)
        else:
            self.node(node.id if node else None)

    def step(self, index: int | None) -> None:
        """Walk to a step of the backward pass; None or an index out of range deselects."""
        steps = self._shown.steps if self._shown else ()
        inside = index is not None and 0 <= index < len(steps)
        self._keep(f"step-{steps[index].node}" if inside and index is not None else "")

    def current(self) -> Selection:
        """What is picked, each with its counterparts; the link is brought up to date."""
        if self._key not in st.session_state:
            return Selection()
        name, pick = st.session_state[self._key]
        kind, _, value = pick.partition("-") if name == self._name else ("", "", "")
        selection = Selection()
        if kind in ("node", "step"):
            selection = self._of_node(value)
            if kind == "step" and selection.step is not None:
                selection = replace(selection, walking=True)
        elif kind == "tensor" and value.isdecimal():
            selection = self._of_tensor(int(value))
        parameter = pick if selection != Selection() else ""
        if st.query_params.get(PARAMETER, "") != parameter:
            if parameter:
                st.query_params[PARAMETER] = parameter
            else:
                del st.query_params[PARAMETER]
        return selection

    def _of_node(self, name: str) -> Selection:
        node = next((n for n in self._all_nodes() if n.id == name), None)
        if node is None:
            return Selection()
        owner = node
        if node.tensor is None and self._shown and node.kind == "accumulate":  # its leaf
            owner = next(iter(inputs_of(node.id, self._shown)), node)
        return Selection(node, self._record(owner.tensor), self._step(node))

    def _all_nodes(self) -> tuple[Node, ...]:
        """Those drawn, then those in folded blocks too."""
        return (*self._nodes, *(self._shown.nodes if self._shown else ()))

    def _of_tensor(self, number: int) -> Selection:
        record = self._record(number)
        if record is None:
            return Selection()
        node = next((n for n in self._all_nodes() if n.tensor == number), None)
        return Selection(node, record, self._step(node) if node else None)

    def _step(self, node: Node) -> int | None:
        return steps_of_nodes(self._shown).get(node.id) if self._shown else None

    def _record(self, number: int | None) -> TensorRecord | None:
        return next((t for t in shown_tensors(self._trace) if t.id == number), None)

    def _keep(self, pick: str) -> None:
        st.session_state[self._key] = (self._name, pick)


@dataclass(frozen=True)
class Shown:
    """What a panel may show: the run, the backward pass in the graph, and what is picked in it."""

    run: ProgramRun
    backward: BackwardPass | None
    picker: Picker
    picked: Selection

    @property
    def trace(self) -> Trace:
        return self.run.trace
