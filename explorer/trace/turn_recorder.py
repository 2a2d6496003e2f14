"""Which turns of a loop are recorded: the first and the last ones, and what is known of the others.

Recording costs many times what a small operation costs, and of many turns only the first three and
the last are shown. What a middle turn does will be done again by a later one; only the names of
tensors that are still in use, and the lines of their nodes, are remembered.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Any

import torch

from explorer.language import ProgramStopped
from explorer.language.rewrite import UNKNOWN
from explorer.language.watcher import Repeated
from explorer.trace.events import LAST_EVENTS
from explorer.trace.operations import Operations
from explorer.trace.run_log import RunLog
from explorer.trace.tensor_registry import MAX_ITEMS
from explorer.trace.torchviz_graph import leaf_of

#: The first turns of a loop are recorded until no record is new, at least so many, and the last.
#: Only the first three and the last are shown, but what they show may come from turns before.
FIRST_TURNS, LAST_TURNS = 4, 6
#: So many first turns are recorded where it is not known how many there will be. Then nothing is
#: recorded until the loop ends, or until this part of the time has gone by, and the program is run
#: again, which only a long loop is worth.
MOST_TURNS, MOST_TIME = 50, 0.4
#: How long, in seconds, a program may go on that is stopped in the middle of a loop.
MOST_EXTRA = 0.3
#: How many statements without a record are remembered, to tell from which one a node is.
MOST_MARKS = 50_000

_next_sequence_number = torch._C._autograd._get_sequence_nr


class TurnRecorder(RunLog):
    """Decides at each statement whether what it does is recorded.

    With `totals`, how often each line will have run at the end, that is known for any program;
    `visits` says the same of the positions of tensors. Of the middle turns, the `iteration` is
    recorded.
    """

    def __init__(
        self,
        capture: str = "hook",
        *,
        totals: Mapping[int, int] | None = None,
        visits: Mapping[Any, int] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(capture, **options)
        self.totals = totals
        self._visits_at_end = visits or {}
        #: Whether the running statement may do something else each time: it is recorded each time.
        self._varies = False
        self.operations = Operations(self)
        #: How many calls of backward are running.
        self.depth = 0
        self._started = self._end = monotonic()
        #: Whether a statement was not recorded because it was presumed to run again, and until when
        #: that is presumed.
        self.presumed = False
        self._presumes_until = math.inf
        if self.deadline is not None:
            self._presumes_until = self._started + MOST_TIME * (self.deadline - self._started)
        self._stop: ProgramStopped | None = None
        self._records_all = capture == "retain_grad"
        #: By place: what was assigned there since the last record (name, value, running line).
        self.assigned: dict[int, tuple[str, Any, int]] = {}
        #: By place: the length of the list or dict that was assigned there last.
        self._lengths: dict[int, int] = {}
        #: The last expression without a record: its place and value.
        self.last_note: tuple[int, torch.Tensor] | None = None
        #: The sequence number of the next autograd node as a statement began, and its line; 0 for
        #: one that was recorded.
        self._marks: deque[tuple[int, int]] = deque([(0, 0)], MOST_MARKS)

    @property
    def lacks_turns(self) -> bool:
        """Whether last turns were not recorded, and would be if the program ran again."""
        is_incomplete = self.presumed or self.changes_kind or bool(self.stale)
        return is_incomplete and not self.was_stopped

    @property
    def was_stopped(self) -> bool:
        """Whether a limit or the reader ended the program, which could run on."""
        return self._stop is not None

    def step(self, line: int, left: float | Repeated | None = None, first: int = 0) -> None:
        self.ordinal = 0
        super().step(line, left, first)
        count = self.run_counts[line]
        self._varies = left is None
        if self.totals is not None and not self._varies:
            self.left = self.totals.get(line, 0) - count
        left, first_turns, must_record = self.left, FIRST_TURNS, self.awaits_gradient
        if left == UNKNOWN:
            first_turns, must_record = MOST_TURNS, self._last_time >= self._presumes_until
        if (
            left < LAST_TURNS
            or count <= self.filled.get(line, 0) + first_turns
            or must_record
            or self._records_all
            or (line in self.writes_of_line and left < LAST_EVENTS)
            or (self.iteration is not None and 0 <= self.iteration - count < LAST_TURNS)
        ):
            self.is_between = False
            if not self.recording:
                self.resume()
            self.stale.discard(line)
        else:
            self.is_between = True
            self.presumed |= left == UNKNOWN
            if self.recording:
                self.pause()
            if line in self.writes_of_line:
                self.events.count += self.writes_of_line[line][1]
            self.stale.add(line)
            number, marks = _next_sequence_number(), self._marks
            if marks[-1][0] == number:
                marks[-1] = (number, line)
            else:
                marks.append((number, line))

    def pause(self) -> None:
        """Stop recording: later turns will do the same again."""
        self.recording = False
        if not self.depth:
            self.operations.stop()

    def resume(self) -> None:
        """Record again, first of all what was assigned since it was last recorded."""
        if self.recording:
            return
        self.recording = True
        if not self.depth:
            self.operations.start()
        self._marks.append((_next_sequence_number(), 0))
        line, unrecorded, note = self.line, self.assigned, self.last_note
        self.assigned, self.last_note = {}, None
        is_between, self.is_between = self.is_between, True
        for place, (name, value, self.line) in unrecorded.items():
            self.unrecorded_visits[place] -= isinstance(value, torch.Tensor)
            with suppress(RuntimeError):  # it belonged to a call of vmap that has ended
                self.bind(place, name, value)
        self.line = line
        if note is not None:
            with suppress(RuntimeError):
                self.note(*note)
        self.is_between = is_between

    def finish(self) -> None:
        """The program has ended: what is recorded from now on stays."""
        self.resume()
        self.is_between = False

    def check_time(self) -> None:
        """Raises ProgramStopped, in the middle of a loop only after a turn has been recorded."""
        if self._stop is None:
            try:
                super().check_time()
                return
            except ProgramStopped as stop:
                now = monotonic()
                extra = min(MOST_EXTRA, 0.1 * (now - self._started))
                self._stop, self._end = stop, now + extra
                self._records_all = True
        self._left = 0  # look again at the next statement
        if not self.stale or monotonic() > self._end:
            raise self._stop

    def enter(self, scope: str) -> float:
        """Where the calling statement is recorded, those of the function are."""
        self.call_counts[scope] += 1
        return 0 if self.recording else self.left

    def unrecorded_name(self, tensor: torch.Tensor) -> str:
        """What `name_of` would say after `resume`."""
        for place, (name, value, _) in reversed(self.assigned.items()):
            if value is tensor:
                return self.shown_name(place, name)
        if self.last_note is not None and self.last_note[1] is tensor:
            return self.locations[self.last_note[0]].text
        return self.name_of(tensor)

    def comes_again(self, position: Any) -> bool:
        at_end = self._visits_at_end.get(position, 0) if self._varies else 0
        return self.visits[position] + LAST_TURNS < at_end

    def look_at_line(self, place: int) -> None:
        """Make records as the statement at this place does, even if it has called a function that
        is recorded."""
        if self.stale and self.locations[place].line in self.stale:
            self.is_between = True

    def grows(self, place: int, value: Any) -> bool:
        """Whether a short list or dict has another length than the last time: it has new items."""
        if not isinstance(value, list | dict) or len(value) > MAX_ITEMS:
            return False
        old, self._lengths[place] = self._lengths.get(place), len(value)
        return old != len(value)

    def find_lines(self, functions: list[Any]) -> None:
        """Give the nodes that statements without a record created their lines."""
        if len(self._marks) == 1:
            return
        marks = list(self._marks)
        for node in functions:
            if leaf_of(node) is None and "line" not in node.metadata:
                index = bisect_right(marks, (node._sequence_nr(), sys.maxsize)) - 1
                if index >= 0 and marks[index][1]:
                    node.metadata["line"] = marks[index][1]
