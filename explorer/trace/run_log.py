"""What is recorded while a program runs, shared by all that observe it.

`Operations` and `ObservedCalls` write to a `RunLog`; `ProgramRecorder` is one, and starts them.
Imports go one way: recorder → observed_calls → operations → run_log → tensor_registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from explorer.trace.events import EventLog
from explorer.trace.history import History, Write
from explorer.trace.records import Change
from explorer.trace.tensor_registry import TensorRegistry


@dataclass(frozen=True)
class FailedOperation:
    """The operation that raised last."""

    function: str
    line: int
    tensors: tuple[torch.Tensor, ...]


class RunLog(TensorRegistry):
    """The tensors of a run, where their history was cut, its events and its failures."""

    def __init__(self, capture: str = "hook", **limits: Any) -> None:
        super().__init__(capture, **limits)
        self.history = History()
        self.events = EventLog()
        self.pass_count = 0
        #: How many results of operations the running statement has recorded.
        self.ordinal = 0
        #: By id of a tensor: the line that last cleared its `.grad`; and for a `.grad` that was
        #: read and was None: the tensor, the line, and how many passes had run by then.
        self.cleared: dict[int, int] = {}
        self.none_reads: dict[int, tuple[torch.Tensor, int, int]] = {}
        self.failed: FailedOperation | None = None
        self._statements: dict[int, str] = {}

    def statement(self) -> str:
        """The text of the running statement: the longest expression on its line."""
        if not self._statements:
            for place in self.locations:
                longest = max(self._statements.get(place.line, ""), place.text, key=len)
                self._statements[place.line] = longest
        return self._statements.get(self.line, "")

    def add_event(
        self, kind: str, what: str, name: str = "", changes: Sequence[Change] = ()
    ) -> None:
        """Log an event of the running line."""
        self.events.add(kind, self.line, what, name, changes)

    def add_write(self, function: str, target: torch.Tensor) -> None:
        """`target` was changed in place. Called with torch functions disabled."""
        try:
            storage = target.untyped_storage().data_ptr()
        except (RuntimeError, NotImplementedError):
            return
        source = next((cut for cut in self.history.of(target) if cut.how == "data"), None)
        silent = source is not None or function == "data"
        name = source.name if source is not None else self.name_of(target)
        self.history.writes.append(Write(self.number, self.line, function, storage, name))
        if silent:
            what = f"{name}.data was changed; autograd does not see this"
            self.add_event("write", what, name)
