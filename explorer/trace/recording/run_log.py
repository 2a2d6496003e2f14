"""The log of a running program, shared by everything that observes it.

`Operations`, `Hooks` and the like write to a `RunLog`; `ProgramRecorder` is a RunLog that starts
both. Imports go one way: recorder → iterations, hooks → operations → run_log → tensor_registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from explorer import limits
from explorer.program import Limits
from explorer.program.error_messages import short_text
from explorer.program.error_messages.known import Operand
from explorer.trace.recording.bindings import Bindings
from explorer.trace.recording.cuts import History, Write
from explorer.trace.recording.events import Entry, EventLog
from explorer.trace.recording.function_calls import FunctionCalls
from explorer.trace.recording.gradients import GradientUse
from explorer.trace.recording.tensor_registry import LiveTensor, TensorRegistry
from explorer.trace.records import Change


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

    def __init__(self, until: Limits | None = None, **recorded: Any) -> None:
        super().__init__(until, **recorded)
        self.history = History()
        self.events = EventLog()
        self.bindings = Bindings()
        self.function_calls = FunctionCalls(self.line_at)
        self.gradients = GradientUse()
        #: Whether what is to be recorded has not begun yet.
        self.is_waiting = False
        #: Whether what happens now is recorded; see `IterationRecorder`.
        self.recording = True
        #: How many results of operations the running statement has recorded.
        self.ordinal = 0
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
                for tensor in failed.tensors[: limits.MOST_OPERANDS]
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
        """What the iterations of all loops do from here on is of another kind."""

    @property
    def ends_soon(self) -> bool:
        """Whether the running statement will run only a few times more."""
        return False

    def meet(self, tensor: torch.Tensor) -> LiveTensor | None:
        """The record of an operation's input that has had none."""
        return None

    def running_line(self) -> int:
        """The line of the statement in which the operation runs that is logged."""
        return self.line

    @property
    def only_counts(self) -> bool:
        """Whether what the running statement does is not recorded, and is known from others."""
        is_known = self.events.count >= limits.FIRST_EVENTS
        return is_known and not self.recording and not self.ends_soon

    def add_event(
        self,
        kind: str,
        what: str,
        name: str = "",
        changes: Sequence[Change] = (),
        thing: Any = None,
    ) -> None:
        """Log an event on the running line, of this object."""
        visit, passes = self.run_counts[self.line], self.pass_count
        self.events.add(
            kind, self.line, what, name, changes,
            visit=visit, passes=passes, thing=thing, is_recorded=not self.only_counts,
        )  # fmt: skip

    def add_observation(self, kind: str, thing: Any) -> None:
        """Log what is observed of this object on the running line; see `EventLog.observe`."""
        self.events.observe(kind, thing, self.line, self.run_counts[self.line], self.pass_count)

    def reads_of(self, tensor: torch.Tensor) -> Sequence[Entry]:
        """When the program read `.grad` of a tensor and found None."""
        return self.events.observations_of("read", tensor)

    def frozen_at(self, tensor: torch.Tensor) -> int:
        """The line that set requires_grad of a tensor to False, as it is now; 0 if none has."""
        frozen = self.events.observations_of("freeze", tensor)
        freed = self.events.observations_of("unfreeze", tensor)
        if not frozen or (freed and freed[-1].latest > frozen[-1].latest):
            return 0
        return frozen[-1].line

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
