"""Which iterations of a loop are recorded: the first ones, and the last, or one in many where it is
not known how many there will be.

Recording costs many times what a small operation costs, and of many iterations only the first three
and the last are shown. An iteration is recorded whole or not at all. What another one does will be
done again by a later one; only the names of tensors that are still in use, and the lines of their
nodes, are remembered.
"""

from __future__ import annotations

import operator
import sys
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import get_ident
from time import monotonic
from types import FrameType
from typing import Any

import torch
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from explorer import limits
from explorer.program import Limits, ProgramStopped
from explorer.program.parsing import FILE
from explorer.program.watcher import OTHER_THREADS
from explorer.trace.recording.objects import is_a
from explorer.trace.recording.operations import Operations
from explorer.trace.recording.run_log import RunLog
from explorer.trace.recording.torchviz_graph import leaf_of

#: Python's own collections and iterators of which `length_hint` is exact.
_SIZED = (range, list, tuple, dict, set, frozenset, str, deque)
_EMPTY: tuple[Any, ...] = (range(0), [], (), {}, set(), "", deque(), reversed([]))
_ITERATORS = {type(iter(empty)) for empty in _EMPTY}


@dataclass(slots=True, eq=False)
class Loop:
    """One loop while it runs, or what else repeats statements.

    `is_within` says whether the iteration of the loop around it is recorded, `is_recorded` whether
    its own is, the `index`-th from 1; there will be `length` of them, None where that is not known.
    When it began, so many backward `passes` had run. `first` is the iteration from which on all do
    the same, which is known of so many `kinds`, and `last` the latest that was recorded."""

    is_within: bool = True
    is_recorded: bool = True
    length: int | None = None
    index: int = 0
    passes: int = 0
    first: int = 1
    last: int = 0
    kinds: int = 0


#: What is not repeated.
ONCE = Loop()


def length_of(items: Any) -> int | None:
    """How many items there will be; None where that is not certain. Takes no item; of a program's
    code, it runs only the `__len__` of a Dataset."""
    kind = type(items)
    if kind in _SIZED:
        return len(items)
    if kind in _ITERATORS:
        length = operator.length_hint(items, -1)
        return length if length >= 0 else None
    if kind in (enumerate, zip):
        _, arguments, *_ = items.__reduce__()
        parts = arguments[:1] if kind is enumerate else arguments
        lengths = [length_of(part) for part in parts]
        return None if None in lengths else min(lengths, default=0)  # type: ignore[type-var]
    if kind is torch.Tensor:
        with torch._C.DisableTorchFunction():
            return items.shape[0] if items.dim() else None
    if str(kind.__module__).startswith("tqdm.") and hasattr(items, "iterable"):
        return length_of(items.iterable)
    if isinstance(items, DataLoader | _BaseDataLoaderIter):
        with suppress(Exception):
            return len(items) - getattr(items, "_num_yielded", 0)
    return None


#: So many first iterations of a loop are recorded, and so many last ones of a `for` that nothing
#: leaves; fewer once there are many records. Only the first three and the last are shown, but what
#: they show may come from iterations before.
FIRST_ITERATIONS, LAST_ITERATIONS, MANY_RECORDS, FEW_ITERATIONS = 4, 3, 2000, (2, 1)
#: Until then also so many first iterations of a loop in which no backward pass has run, for all its
#: iterations build one graph, and of a loop that may end at any time.
MOST_ITERATIONS = 50
#: Of a longer one then one iteration in so many, or the 20th part of all: so one near the end.
DISTANCE, PART = 20, 20

#: The names of code that has no statements.
_OF_EXPRESSIONS = frozenset(["<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"])

_next_sequence_number = torch._C._autograd._get_sequence_nr


class IterationRecorder(RunLog):
    """Decides at each statement whether what it does is recorded.

    With `totals`, how often each line will have run at the end, the last runs of each are recorded.
    In the middle, the iteration with the number `iteration` is recorded.
    """

    def __init__(
        self,
        until: Limits | None = None,
        *,
        totals: Mapping[int, int] | None = None,
        **recorded: Any,
    ) -> None:
        super().__init__(until, **recorded)
        self.totals = totals
        #: How often each line has been recorded.
        self.recorded_runs: dict[int, int] = defaultdict(int)
        #: By function and line: which run of the line has called it last, and its calls by that.
        self._calls: dict[tuple[str, int], tuple[int, Loop]] = {}
        #: The loop in which the running statement runs; and by the id of a frame plus a depth, each
        #: that runs. Frames that have ended leave theirs: only those that run are looked up.
        self.running_loop, self._loops = ONCE, dict[int, Loop]()
        #: The id of the frame in which the last statement began, and the lines of those frames that
        #: have called a function since. Only ids of frames that run are looked up.
        self._stepped, self._lines = 0, dict[int, int]()
        #: How often what the iterations of loops do has become of another kind.
        self._kinds = 0
        self.operations = Operations(self)
        #: How many calls of backward are running.
        self.depth = 0
        self._started = self._end = monotonic()
        self._stop: ProgramStopped | None = None
        self._records_all = self.capture == "retain_grad"
        #: The state of torch's generator when the program had ended.
        self.random = b""
        #: By place: what was assigned there since the last record (name, value, running line).
        self.assigned: dict[int, tuple[str, Any, int]] = {}
        #: By place: each length of the list that was assigned there, and the run of its line.
        self._lengths: dict[int, list[tuple[int, int]]] = defaultdict(list)
        #: The last expression without a record: its place and value.
        self.last_note: tuple[int, torch.Tensor] | None = None
        #: The sequence number of the next autograd node as a statement began, and its line; 0 for
        #: one that was recorded.
        self._marks: deque[tuple[int, int, int]] = deque([(0, 0, 0)], limits.MOST_MARKS)

    def lacks_last_iterations(self, error: bool) -> bool:
        """Whether the last iterations were not recorded, and a second run is worth it: it tells
        what the program has failed at there, and takes no time for a small one."""
        is_small = max(self.number, sum(self.run_counts.values())) <= limits.MOST_RERUN_STATEMENTS
        is_unseen = error and self.line in self.stale
        return bool(self.stale) and (is_unseen or is_small) and not self.was_stopped

    def fingerprint(self) -> tuple[Any, ...]:
        """What two runs have in common that do the same: how often each line ran, what was printed,
        and how far the random numbers had come."""
        return dict(self.run_counts), self.output, self.random

    @property
    def was_stopped(self) -> bool:
        """Whether a limit or the reader ended the program, which could run on."""
        return self._stop is not None

    def step(self, line: int, depth: int | None = 0) -> None:
        if get_ident() != self.thread:
            self.notices.add(OTHER_THREADS)
            return
        self.ordinal = 0
        self._stepped = frame = id(sys._getframe(1))
        if depth is not None:
            self.running_loop = self._loops.get(frame + depth, ONCE) if depth else ONCE
        super().step(line)
        if self.running_loop.is_recorded or self._wants(line):
            self.is_between = False
            self.recorded_runs[line] += 1
            if not self.recording:
                self.resume()
            self.stale.discard(line)
            return
        self.is_between = True
        if self.recording:
            self.pause()
        if line in self.writes_of_line:
            self.events.count += self.writes_of_line[line][1]
        self.stale.add(line)
        number, marks = _next_sequence_number(), self._marks
        if marks[-1][0] == number:
            marks[-1] = (number, line, self.run_counts[line])
        else:
            marks.append((number, line, self.run_counts[line]))

    def _wants(self, line: int) -> bool:
        """Whether the statement that begins on this line is recorded although its iteration is
        not."""
        if self._records_all or self.recorded_runs[line] < limits.FIRST_VISITS:
            return True
        count = self.run_counts[line]
        if self.totals is not None and self.totals.get(line, 0) - count < LAST_ITERATIONS:
            return True
        return self.iteration is not None and 0 <= self.iteration - count < LAST_ITERATIONS

    def loop(self, depth: int) -> None:
        if get_ident() == self.thread:
            self._loops[id(sys._getframe(1)) + depth] = self._begin_loop()

    def again(self, depth: int) -> None:
        if get_ident() == self.thread:
            self._begin_iteration(self._loops[id(sys._getframe(1)) + depth])

    def counted(self, items: Iterable[Any], depth: int, may_leave: bool) -> Iterable[Any]:
        if get_ident() != self.thread:
            return items
        self._loops[id(sys._getframe(1)) + depth] = loop = self._begin_loop()
        line = self.line
        loop.length = None if may_leave else length_of(items)
        self.line = line
        return self._each(items, loop)

    def _each(self, items: Iterable[Any], loop: Loop) -> Iterator[Any]:
        line = self.line
        for item in items:
            self._begin_iteration(loop)
            yield item
            self.line = line  # the next item is asked for
        if loop.is_within:
            self.resume()
            self.is_between = False

    def _begin_loop(self) -> Loop:
        return Loop(self.recording, self.recording, passes=self.pass_count, kinds=self._kinds)

    def _begin_iteration(self, loop: Loop) -> None:
        loop.index += 1
        loop.is_recorded = loop.is_within and self._is_chosen(loop)

    def _is_chosen(self, loop: Loop) -> bool:
        """Whether the iteration that begins is recorded, if the one of the loop around it is."""
        index, length = loop.index, loop.length
        if loop.kinds != self._kinds:
            loop.kinds, loop.first = self._kinds, index
        is_small = self.number < MANY_RECORDS
        first, last = (FIRST_ITERATIONS, LAST_ITERATIONS) if is_small else FEW_ITERATIONS
        builds_graph = loop.passes == self.pass_count
        is_open = length is None and self.totals is None
        if index < loop.first + first or (
            is_small and index <= MOST_ITERATIONS and (builds_graph or is_open)
        ):
            chosen = True
        elif length is not None:
            chosen = length - index < last
        else:
            chosen = is_open and index - loop.last >= max(DISTANCE, index // PART)
        if chosen:
            loop.last = index
        return chosen

    def change_kind(self) -> None:
        """What the iterations of all loops do from here on is of another kind."""
        self._kinds += 1

    @property
    def ends_soon(self) -> bool:
        loop, line = self.running_loop, self.line
        if self.totals is not None:
            return self.totals.get(line, 0) - self.run_counts[line] < limits.MOST_DESCENT_VALUES
        return loop.length is not None and loop.length - loop.index < limits.MOST_DESCENT_VALUES

    def pause(self) -> None:
        """Stop recording: later iterations will do the same again."""
        self.recording = False
        self.function_calls.pause(self.number, self.events.steps)
        if not self.depth:
            self.operations.stop()

    def resume(self) -> None:
        """Record again, first of all what was assigned since it was last recorded."""
        if self.recording:
            return
        self.recording = True
        if not self.depth:
            self.operations.start()
        self._marks.append((_next_sequence_number(), 0, 0))
        line, unrecorded, note = self.line, self.assigned, self.last_note
        self.assigned, self.last_note = {}, None
        # What is caught up on now belongs to iterations that are not shown: it only tells names.
        is_between, self.is_between = self.is_between, True
        for place, (name, value, self.line) in unrecorded.items():
            self.unrecorded_visits[place] -= is_a(value, torch.Tensor)
            with suppress(RuntimeError):  # it belonged to a call of vmap that has ended
                self.bind(place, name, value)
                self._date_items(value, self._lengths.pop(place, ()))
        self.line = line
        if note is not None:
            with suppress(RuntimeError):
                self.note(*note)
        self.is_between = is_between

    def note_length(self, place: int, items: list[Any]) -> None:
        """A list was assigned while nothing is recorded: items may have been added to it."""
        lengths = self._lengths[place]
        if lengths and len(items) < lengths[-1][0]:
            lengths.clear()  # another list
        if len(items) <= limits.MOST_ITEMS and not (lengths and lengths[-1][0] == len(items)):
            lengths.append((len(items), self.run_counts[self.line]))

    def _date_items(self, items: Any, lengths: Iterable[tuple[int, int]]) -> None:
        """Say of the items of a list in which iterations they were added."""
        for length, visit in lengths:
            item: Any = items[length - 1] if 0 < length <= len(items) else None
            live = self.find(item) if is_a(item, torch.Tensor) else None
            if live is not None and live.is_between:
                live.visit = visit

    def finish(self) -> None:
        """The program has ended: what is recorded from now on stays."""
        self.resume()
        self.is_between = False

    def check_time(self) -> None:
        """Raises ProgramStopped, in the middle of a loop only once an iteration is recorded."""
        if self._stop is None:
            try:
                super().check_time()
                return
            except ProgramStopped as stop:
                now = monotonic()
                extra = min(limits.MOST_EXTRA, 0.1 * (now - self._started))
                self._stop, self._end = stop, now + extra
                self._records_all = True
        self._left = 0  # look again at the next statement
        if not self.stale or monotonic() > self._end:
            raise self._stop

    def enter(self, scope: str) -> None:
        """Where the calling statement is recorded, those of the function are; but of many calls by
        one statement, as a library makes them, as many as of a loop."""
        if get_ident() != self.thread:
            return
        self.call_counts[scope] += 1
        caller = _of_statement(sys._getframe(2))
        line = self._lines[id(caller)] = self.line_in(caller)
        count, loop = self._calls.get((scope, line), (None, ONCE))
        if count == self.run_counts[line]:
            self._begin_iteration(loop)
        elif self.recording:
            loop = self._begin_loop()
            self._calls[scope, line] = self.run_counts[line], loop
            self._begin_iteration(loop)
        else:
            loop = self.running_loop
        self._loops[id(sys._getframe(1)) + 1] = loop

    def running_line(self) -> int:
        return self.line_in(_of_statement(sys._getframe(2)))

    def line_in(self, frame: FrameType | None) -> int:
        """The line of the statement that runs in this frame of the program: that of the last step,
        unless it was in a function that this statement has called."""
        return self.line if id(frame) == self._stepped else self._lines.get(id(frame), self.line)

    def unrecorded_name(self, tensor: torch.Tensor) -> str:
        """What `name_of` would say after `resume`."""
        for place, (name, value, _) in reversed(self.assigned.items()):
            if value is tensor:
                return self.shown_name(place, name)
        if self.last_note is not None and self.last_note[1] is tensor:
            return self.locations[self.last_note[0]].text
        return self.name_of(tensor)

    def look_at_line(self, place: int) -> None:
        """Make records as the statement at this place does, even if it has called a function that
        is recorded."""
        if self.stale and self.locations[place].line in self.stale:
            self.is_between = True

    def find_lines(self, functions: list[Any]) -> None:
        """Give the nodes that statements without a record created their lines and visits."""
        if len(self._marks) == 1:
            return
        marks = list(self._marks)
        for node in functions:
            if leaf_of(node) is None and "line" not in node.metadata:
                index = bisect_right(marks, (node._sequence_nr(), sys.maxsize)) - 1
                if index >= 0 and marks[index][1]:
                    _, node.metadata["line"], node.metadata["visit"] = marks[index]


def _of_statement(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the program that runs statements."""
    while frame is not None and (
        frame.f_code.co_filename != FILE or frame.f_code.co_name in _OF_EXPRESSIONS
    ):
        frame = frame.f_back
    return frame
