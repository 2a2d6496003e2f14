"""Records a running program: its tensors, where each was created, and its backward passes."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

import torch
from torch import nn

from explorer.language import OutsideLanguage, ProgramStopped, SourceLocation
from explorer.trace import passes
from explorer.trace.capture import CapturedValues
from explorer.trace.curves import Curves
from explorer.trace.events import LAST_EVENTS, Snapshot, make_change, take_snapshot
from explorer.trace.observed_calls import ObservedCalls
from explorer.trace.operations import Operations
from explorer.trace.passes import RawPass
from explorer.trace.run_log import RunLog
from explorer.trace.tensor_registry import FIRST_VISITS, MAX_ITEMS
from explorer.trace.torchviz_graph import leaf_of, leaves_of, walk_graph

#: Most elements of a leaf whose values are followed from pass to pass, and how many are kept.
MOST_FOLLOWED, POINTS = 16, 6
#: Most leaves that are followed.
MOST_LEAVES = 40
#: Most backward calls that may be nested, in hooks and custom backwards. From about 60 on, torch
#: continues in other threads, which do not exist in a forked child.
MOST_NESTED = 20
#: Most accumulated gradients that are recorded.
MOST_ADDED = 12
#: The first turns of a loop are recorded until no record is new, at least so many, and the last.
#: Only the first three and the last are shown, but what they show may come from turns before.
FIRST_TURNS, LAST_TURNS = 4, 6
#: How long, in seconds, a program may go on that is stopped in the middle of a loop.
MOST_EXTRA = 0.3
#: How many statements without a record are remembered, to tell from which one a node is.
MOST_MARKS = 50_000

_quiet = torch._C.DisableTorchFunction
_next_sequence_number = torch._C._autograd._get_sequence_nr


@dataclass(frozen=True, eq=False)
class Accumulation:
    """A backward pass that added to a gradient already in `.grad`."""

    line: int | None
    number: int
    leaf: torch.Tensor
    old: Snapshot
    new: Snapshot


@dataclass(frozen=True, eq=False)
class RefusedBackward:
    """A backward call on a tensor that does not require grad."""

    line: int
    tensor: torch.Tensor


@dataclass(frozen=True, eq=False)
class LeafBefore:
    """A leaf as it was before a backward pass; with its values only if it is small."""

    leaf: torch.Tensor
    value: Snapshot
    grad: Snapshot
    had_gradient: bool

    @classmethod
    def from_leaf(cls, leaf: torch.Tensor) -> LeafBefore:
        return cls(leaf, take_snapshot(leaf), take_snapshot(leaf.grad), has_gradient(leaf))


def has_gradient(leaf: torch.Tensor) -> bool:
    """Whether `.grad` is there and not all zero."""
    return leaf.grad is not None and bool(leaf.grad.any())


class ProgramRecorder(RunLog):
    """The log of a running program, from which `explorer.trace.running` builds the Trace.

    The rewritten program calls the methods of `Watcher`. What the middle turns of a long loop do is
    not recorded: while `recording` is false, only what may be needed later is remembered. With
    `totals`, how often each line will have run at the end, that is known for any program.
    """

    def __init__(
        self,
        capture: str = "hook",
        *,
        iteration: int | None = None,
        totals: Mapping[int, int] | None = None,
        **limits: Any,
    ) -> None:
        super().__init__(capture, iteration=iteration, **limits)
        self.observed = ObservedCalls(self)
        self.operations = Operations(self)
        self.totals = totals
        self.first_passes: list[RawPass] = []
        self.chosen_pass: RawPass | None = None
        self.last_pass: RawPass | None = None
        self.depth = 0
        self.refused_backward: RefusedBackward | None = None
        self.accumulations: list[Accumulation] = []
        #: By id of a leaf: the leaf, and its latest values, each with its gradient at that value.
        self.descents: dict[
            int, tuple[torch.Tensor, deque[tuple[CapturedValues, CapturedValues]]]
        ] = {}
        self.curves = Curves()
        self._started = self._end = monotonic()
        self._stop: ProgramStopped | None = None
        #: The lines that have run since they were last recorded.
        self.stale: set[int] = set()
        #: By place: what was assigned there since the last record (name, value, running line).
        self._unrecorded: dict[int, tuple[str, Any, int]] = {}
        #: By place: the length of the list or dict that was assigned there last.
        self._lengths: dict[int, int] = {}
        #: The last expression without a record: its place and value.
        self._last_note: tuple[int, torch.Tensor] | None = None
        #: The sequence number of the next autograd node as a statement began, and its line; 0 for
        #: one that was recorded.
        self._marks: deque[tuple[int, int]] = deque(maxlen=MOST_MARKS)

    @property
    def recorded_passes(self) -> list[RawPass]:
        later = [raw for raw in (self.chosen_pass, self.last_pass) if raw is not None]
        return [*self.first_passes, *dict.fromkeys(later)]

    @property
    def was_stopped(self) -> bool:
        """Whether a limit or the reader ended the program, which could run on."""
        return self._stop is not None

    def observe_operations(self) -> AbstractContextManager[None]:
        """Record the operations of the program that runs meanwhile."""
        return self.operations.while_running()

    # -- called by the rewritten program --------------------------------------------------------

    def step(self, line: int, left: int = 0, first: int = 0) -> None:
        self.ordinal = 0
        super().step(line, left, first)
        count = self.run_counts[line]
        left = self.left if self.totals is None else self.totals.get(line, 0) - count
        if (
            left < LAST_TURNS
            or count <= FIRST_TURNS
            or count <= self.filled[line] + FIRST_TURNS
            or (line in self.writes_of_line and left < LAST_EVENTS)
            or self.capture == "retain_grad"
            or self.awaits_gradient
            or self._stop is not None
            or (self.iteration is not None and 0 <= self.iteration - count < LAST_TURNS)
        ):
            self.is_between = False
            if not self.recording:
                self.resume()
            self.stale.discard(line)
        else:
            self.is_between = True
            if self.recording:
                self.pause()
            if line in self.writes_of_line:
                self.events.count += self.writes_of_line[line][1]
            self.stale.add(line)
            self._mark(line)

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
        self._mark(0)
        line, unrecorded, note = self.line, self._unrecorded, self._last_note
        self._unrecorded, self._last_note = {}, None
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
        self._left = 0  # look again at the next statement
        if not self.stale or monotonic() > self._end:
            raise self._stop

    def _mark(self, line: int) -> None:
        number = _next_sequence_number()
        if not self._marks or self._marks[-1][0] != number:
            self._marks.append((number, line))
        else:
            self._marks[-1] = (number, line)

    def enter(self, scope: str) -> int:
        """Where the calling statement is recorded, those of the function are."""
        self.call_counts[scope] += 1
        return 0 if self.recording else self.left

    def note(self, place: int, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if not self.recording:
                self._last_note = (place, value)
                return value
            with _quiet(), self._as_on_its_line(place):
                self.check_size(value)
                live = self.find(value)
                location = self.locations[place]
                if live is None and value.numel():
                    self.find_cuts_in_statement(value, location)
                    self.add(("note", place), location.line, location.text, value)
                elif live is not None and not live.named and location.text:
                    live.name, live.line = location.text, location.line
        return value

    def find_cuts_in_statement(self, tensor: torch.Tensor, location: SourceLocation) -> None:
        """Give a tensor without a record the cuts behind the numbers its statement reads.

        torch.from_numpy creates such a tensor: it is not an operation that can be observed.
        """
        if self.history.active and tensor.grad_fn is None and not self.history.cuts_of(tensor):
            cuts = self.history.cuts_read_by(location.line, location.text)
            if cuts:
                self.history.add_cuts(tensor, cuts, location.line, "from_numpy")

    def bind(self, place: int, name: str, value: Any) -> None:
        if not self.recording and not self._grows(place, value):
            if isinstance(value, torch.Tensor):
                old = self._unrecorded.get(place)
                self.unrecorded_visits[place] += old is None or old[1] is not value
            self._unrecorded[place] = (name, value, self.line)
            return
        if isinstance(value, torch.Tensor | nn.Module | list | tuple | dict) or hasattr(
            value, "__dict__"
        ):
            with _quiet(), self._as_on_its_line(place):
                if isinstance(value, torch.Tensor) and self.find(value) is None:
                    self.find_cuts_in_statement(value, self.locations[place])
                self.bind_value(place, name, value)
        if self.history.active:
            location = self.locations[place]
            self.history.note_assignment(location.line, location.text, name, value)
        if self.events.running_hook is not None:
            self.events.running_hook.note_assignment(name, value)

    @contextmanager
    def _as_on_its_line(self, place: int) -> Iterator[None]:
        """Make records as the statement at this place does, which has perhaps called a function
        that is recorded."""
        is_between = self.is_between
        self.is_between = is_between or self.locations[place].line in self.stale
        try:
            yield
        finally:
            self.is_between = is_between

    def _grows(self, place: int, value: Any) -> bool:
        """Whether a short list or dict has another length than the last time: it has new items."""
        if not isinstance(value, list | dict) or len(value) > MAX_ITEMS:
            return False
        if self._lengths.get(place) == len(value):
            return False
        self._lengths[place] = len(value)
        self.resume()
        self.is_between = False
        return True

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        roots = _roots(what, receiver, args, kwargs)
        if roots and all(t.requires_grad for t in roots):
            return self.backward(what, roots, lambda: function(*args, **kwargs))
        if not (what.endswith(".zero_grad") or what == "Optimizer.step"):
            self.resume()
        if roots:
            root = next(t for t in roots if not t.requires_grad)
            self.refused_backward = RefusedBackward(self.line, root)
        elif what.endswith(".zero_grad"):
            return self.observed.zero_grad(receiver, lambda: function(*args, **kwargs))
        elif what == "Optimizer.step":
            has_closure = bool(args or kwargs)
            return self.observed.step(receiver, lambda: function(*args, **kwargs), has_closure)
        elif ".register_" in what:
            return self.observed.register(what, receiver, function, *args, **kwargs)
        elif what == "Tensor.retain_grad":
            self.events.retain_grad_lines.append(self.line)
        return function(*args, **kwargs)

    # -- passes -----------------------------------------------------------------------------

    def backward(
        self,
        what: str,
        roots: list[torch.Tensor],
        run: Callable[[], Any],
        ours: bool = False,
    ) -> Any:
        """Run a backward call and record the pass; the first three passes and the last are kept."""
        if self.depth == MOST_NESTED:
            raise OutsideLanguage(
                f"More than {MOST_NESTED} calls of backward are nested inside each other.",
                "Let the hook or custom backward return before you call backward again.",
            )
        self.pass_count += 1
        with _quiet():
            self.curves.add_loss(self.pass_count, roots)
            if self.curves.wants_norms(self.pass_count):
                self.curves.add_norms(self.pass_count, self.named_leaves().items())
        if not self._needs_record(roots):
            return self._run_unrecorded(what, roots, run)
        self.resume()
        call_line = self.line
        with _quiet():
            line = None if ours else call_line
            earlier = self.recorded_passes[-1] if self.recorded_passes else None
            raw = passes.start_pass(
                self.pass_count, line, what, roots, self.named_leaves(), earlier
            )
            raw.ours = ours
            self.awaits_gradient = False
            self._find_lines(raw.functions)
            leaves = leaves_of(raw.functions)
            is_between, self.is_between = self.is_between, False
            raw.leaves = {id(leaf): self.refresh(leaf) for leaf in leaves}
            self.is_between = is_between
            before = [LeafBefore.from_leaf(leaf) for leaf in leaves]
        if len(self.first_passes) < FIRST_VISITS:
            self.first_passes.append(raw)
        else:
            self.last_pass = raw
            if raw.number == self.iteration:
                self.chosen_pass = raw
        with self._inside_pass():
            try:
                result = raw.run_with_hooks(run)
            finally:
                with _quiet():
                    self.assign_gradients(raw)
        with _quiet():
            self.log_pass(raw, before)
        return result

    def _run_unrecorded(self, what: str, roots: list[torch.Tensor], run: Callable[[], Any]) -> Any:
        """Run a backward call that a later turn will repeat: only its event may be needed."""
        if self.events_only_count:
            with self._inside_pass():
                result = run()
            self.events.count += 1
            return result
        self.resume()
        with _quiet():
            before = [LeafBefore.from_leaf(leaf) for leaf in leaves_of(walk_graph(roots))]
        with self._inside_pass():
            result = run()
        with _quiet():
            self.log_backward(what, roots, before)
        return result

    @contextmanager
    def _inside_pass(self) -> Iterator[None]:
        call_line = self.line
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            self.line = call_line  # hooks and custom backwards ran other lines
            if self.recording and not self.depth:
                self.operations.start()
        self.check_time()

    def _needs_record(self, roots: list[torch.Tensor]) -> bool:
        """Whether this pass is one of the first, the chosen one, or may be the last, or whether a
        record is to be made of what it does to a leaf or a tensor."""
        if self.recording or len(self.first_passes) < FIRST_VISITS:
            return True
        if self.pass_count == self.iteration or self.awaits_gradient:
            return True
        may_add = len(self.accumulations) < MOST_ADDED
        assigned = {id(value) for _, value, _ in self._unrecorded.values()}
        with _quiet():
            return any(
                (may_add and has_gradient(leaf))
                or (id(leaf) not in assigned and self.may_have_changed(leaf))
                for leaf in leaves_of(walk_graph(roots))
            )

    def _find_lines(self, functions: list[Any]) -> None:
        """Give the nodes that statements without a record created their lines."""
        if not self._marks:
            return
        marks = list(self._marks)
        for node in functions:
            if leaf_of(node) is None and "line" not in node.metadata:
                index = bisect_right(marks, (node._sequence_nr(), sys.maxsize)) - 1
                if index >= 0 and marks[index][1]:
                    node.metadata["line"] = marks[index][1]

    def assign_gradients(self, raw: RawPass) -> None:
        """Store each gradient that the hooks captured in the record of its tensor."""
        for step in raw.steps:
            node = raw.functions[step.function]
            for output_nr, grad in enumerate(step.grads_in):
                for live in self.by_output.get((id(node), output_nr), ()):
                    if grad is not None:
                        live.grad = grad

    def log_pass(self, raw: RawPass, before: list[LeafBefore]) -> None:
        """Log what a finished pass added to each `.grad`, and the value of each small leaf."""
        gradients = {
            id(leaf): step.grads_in[0]
            for step in raw.steps
            if (leaf := leaf_of(raw.functions[step.function])) is not None
        }
        for earlier in before:
            leaf, value = earlier.leaf, earlier.value
            slope = gradients.get(id(leaf))
            if slope is None:
                continue
            if isinstance(value, CapturedValues) and leaf.numel() <= MOST_FOLLOWED:
                self.add_descent(leaf, value, slope)
            is_added = raw.call != "torch.autograd.grad" and leaf.grad is not None
            if is_added and earlier.had_gradient and len(self.accumulations) < MOST_ADDED:
                new = take_snapshot(leaf.grad)
                self.accumulations.append(
                    Accumulation(raw.line, raw.number, leaf, earlier.grad, new)
                )
        self.log_backward(raw.call, raw.roots, before)

    def log_backward(self, call: str, roots: list[torch.Tensor], before: list[LeafBefore]) -> None:
        """Log the event of a finished pass: what it added to each `.grad`."""
        changes = []
        for earlier in before:
            leaf = earlier.leaf
            if call != "torch.autograd.grad" and leaf.grad is not None:
                new = take_snapshot(leaf.grad)
                changes.append(make_change(f"{self.name_of(leaf)}.grad", earlier.grad, new))
        root = self.name_of(roots[0]) if roots else ""
        self.add_event("backward", f"{call} from {root or 'an output'}", root, changes)

    def add_descent(self, leaf: torch.Tensor, value: CapturedValues, slope: CapturedValues) -> None:
        """Record the value of a small leaf and its gradient at that value."""
        descent = self.descents.get(id(leaf))
        if descent is None and len(self.descents) < MOST_LEAVES:
            descent = self.descents[id(leaf)] = (leaf, deque(maxlen=POINTS))
        if descent is not None:
            descent[1].append((value, slope))


def _roots(what: str, receiver: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The tensors a backward call starts from; none for other calls, or if torch refuses it."""
    if what == "Tensor.backward":
        roots: Any = receiver
    elif what == "torch.autograd.grad":
        roots = args[0] if args else kwargs.get("outputs")
    elif what == "torch.autograd.backward":
        roots = args[0] if args else kwargs.get("tensors")
    else:
        return []
    tensors = list(roots) if isinstance(roots, list | tuple) else [roots]
    return tensors if all(isinstance(t, torch.Tensor) for t in tensors) else []
