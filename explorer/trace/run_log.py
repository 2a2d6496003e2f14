"""The log of a running program, shared by everything that observes it.

`Operations` and `ObservedCalls` write to a `RunLog`; `ProgramRecorder` is a RunLog that starts
both. Imports go one way: recorder → turn_recorder, observed_calls → operations → run_log →
tensor_registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from explorer.language.error_messages.known import MOST_OPERANDS, Operand
from explorer.language.explain import short_text
from explorer.trace.bindings import Bindings
from explorer.trace.events import FIRST_EVENTS, EventLog
from explorer.trace.function_calls import FunctionCalls
from explorer.trace.gradient_use import GradientUse
from explorer.trace.history import History, Write
from explorer.trace.records import Change
from explorer.trace.tensor_registry import TensorRegistry

#: How many of the last values of a small leaf are kept, each with its gradient.
POINTS = 6


@dataclass(frozen=True)
class FailedOperation:
    """The operation that last raised an exception."""

    function: str
    line: int
    tensors: tuple[torch.Tensor, ...]
    #: What the exception said.
    text: str


class RunLog(TensorRegistry):
    """The tensors of a run, their cuts from the graph, its events, and its last failure."""

    def __init__(self, capture: str = "hook", **options: Any) -> None:
        super().__init__(capture, **options)
        self.history = History()
        self.events = EventLog()
        self.bindings = Bindings()
        self.function_calls = FunctionCalls()
        self.gradients = GradientUse()
        #: Whether what happens now is recorded; see `TurnRecorder`.
        self.recording = True
        #: How many results of operations the running statement has recorded.
        self.ordinal = 0
        #: By id of a tensor: the line that last cleared its `.grad`.
        self.cleared: dict[int, int] = {}
        #: By id of a tensor whose `.grad` was read while it was None: the tensor, the line, and
        #: how many passes had run by then.
        self.none_reads: dict[int, tuple[torch.Tensor, int, int]] = {}
        #: By id of a tensor: the tensor, and the line that last set its requires_grad to False.
        self.frozen: dict[int, tuple[torch.Tensor, int]] = {}
        self.failed_operation: FailedOperation | None = None
        #: By line: which run of it last changed `.data`, and how many events that made.
        self.writes_of_line: dict[int, tuple[int, int]] = {}
        self._statements: dict[int, str] = {}

    def operands_of(self, error: BaseException) -> Sequence[Operand]:
        failed = self.failed_operation
        if failed is None or failed.text != short_text(error):
            return ()
        with torch._C.DisableTorchFunction():
            return [
                Operand(self._operand_name(tensor), tuple(tensor.shape), str(tensor.dtype)[6:])
                for tensor in failed.tensors[:MOST_OPERANDS]
            ]

    def _operand_name(self, tensor: torch.Tensor) -> str:
        """The program's name for a tensor, or the operation that computed it inside a layer."""
        live, name = self.find(tensor), self.name_of(tensor)
        is_inside = live is not None and not live.named and name == live.operation
        return f"the result of {name}" if is_inside else name

    def statement_text(self) -> str:
        """The text of the running statement: the longest expression on its line."""
        if not self._statements:
            for location in self.locations:
                longest = max(self._statements.get(location.line, ""), location.text, key=len)
                self._statements[location.line] = longest
        return self._statements.get(self.line, "")

    def resume(self) -> None:
        """Record what happens from now on, whether or not it was recorded before."""

    def change_kind(self) -> None:
        """What the turns of all loops do from here on is of another kind."""

    @property
    def ends_soon(self) -> bool:
        """Whether the running statement will run only a few times more."""
        return False

    @property
    def events_only_count(self) -> bool:
        """Whether what the running statement does is not recorded, and is known from others."""
        is_full = len(self.events.first) == FIRST_EVENTS
        return is_full and not self.recording and not self.ends_soon

    def add_event(
        self, kind: str, what: str, name: str = "", changes: Sequence[Change] = ()
    ) -> None:
        """Log an event on the running line."""
        self.events.add(kind, self.line, what, name, changes)

    def add_write(self, function: str, target: torch.Tensor) -> None:
        """Log that `target` was changed in place. Call it with torch functions disabled."""
        try:
            storage = target.untyped_storage().data_ptr()
        except (RuntimeError, NotImplementedError):
            return
        source = next((cut for cut in self.history.cuts_of(target) if cut.cause == "data"), None)
        is_unseen = source is not None or function == "data"
        name = source.name if source is not None else self.name_of(target)
        if function != "step":
            self.gradients.write(storage, self.line)
        self.history.writes.append(Write(self.number, self.line, function, storage, name))
        if is_unseen:
            what = f"{name}.data was changed; autograd does not see this"
            self.add_event("write", what, name)
            run, count = self.writes_of_line.get(self.line, (0, 0))
            now = self.run_counts[self.line]
            self.writes_of_line[self.line] = (now, count + 1 if run == now else 1)
