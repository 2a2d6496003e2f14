"""The one log of a run: all that was observed other than operations, in the order it happened.

Whoever observes something adds an `Entry`; whoever explains something later reads them. A call that
changes gradients or parameters has one in every iteration of a loop: in those that are not
recorded, the same call on the same line adds to its entry. An object is known by a serial number
and held weakly, for its address is used again.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from explorer import limits
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.records import Array, Change, Event, Unkept

#: Where torch's optimizers keep the running mean of the gradients of a parameter.
RUNNING_MEANS = ("momentum_buffer", "exp_avg")

#: A tensor at the time of an event: its values, or its shape alone if there are many of them;
#: None where there is no tensor.
Snapshot = CapturedValues | Unkept | None


@dataclass
class HookCall:
    """One call of a hook on a tensor: the gradient it received, and what it returned.

    `is_leaf` says whether the tensor was a leaf when the hook was registered with the method
    `kind`. `hooks` holds the names under which hooks were registered on this tensor; one list
    is shared by all its calls. `argument` is the name of the hook's argument; `dropped` is that
    name again, if the hook assigned a new tensor to it, which has no effect. `read_grad` is the
    line in the hook that read the tensor's `.grad` while it was None. `is_in_place` says that it
    changed the gradient itself, which is then `returned`, whatever it returned.
    """

    line: int
    name: str
    is_leaf: bool
    kind: str
    gradient: Snapshot
    hooks: list[str]
    tensor: torch.Tensor | None
    received: torch.Tensor | None
    returned: Snapshot = None
    is_replaced: bool = False
    is_in_place: bool = False
    argument: str = ""
    dropped: str = ""
    read_grad: int = 0

    def note_assignment(self, name: str, value: Any) -> None:
        """Record that the hook assigned `value` to `name`: to its argument, it has no effect."""
        if value is not None and value is self.received:
            self.argument = self.argument or name
        elif name == self.argument and isinstance(value, torch.Tensor):
            self.dropped = name

    def note_none_grad(self, tensor: torch.Tensor, line: int) -> None:
        """Record that the hook read `.grad` of this tensor while it was None."""
        if tensor is self.tensor:
            self.read_grad = line


@dataclass
class HookUse:
    """A hook on a tensor, as it was registered: `number` counts the records made before, `passes`
    the backward passes, and `node` is the sequence number of the tensor's node (-1 for a leaf)."""

    line: int
    name: str
    tensor: weakref.ref[torch.Tensor]
    number: int
    passes: int
    node: int
    handle: Any = None
    calls: int = 0


@dataclass
class OptimizerUse:
    """An optimizer of the program, and what its steps did.

    `line` made it. `given` holds the parameters it got then, in order, each with whether it
    required a gradient, and `made` is that moment in `Bindings.number`; so many backward `passes`
    had run. `skipped` holds the parameters that a step did not change because they had no gradient,
    with the line. `moved` holds those it changed although their gradient was zero, with the line
    and their values before and after, and `driven_on` the ids of those of them whose running mean
    was not 0 before that step. `empty_step` holds the line of a step that ran when all gradients
    were cleared, and the line of the zero_grad that cleared them.
    """

    optimizer: torch.optim.Optimizer
    line: int
    steps: int = 0
    skips: int = 0
    #: The lines of its first step, and of the first one that a GradScaler skipped.
    stepped: int = 0
    skipped_at: int = 0
    given: list[tuple[torch.Tensor, bool]] = field(default_factory=list)
    made: int = 0
    passes: int = 0
    frozen: list[torch.Tensor] = field(default_factory=list)
    #: By id of a parameter: one that a step moved although it is frozen, with the line.
    stale: dict[int, tuple[torch.Tensor, int]] = field(default_factory=dict)
    #: By id of a parameter with a gradient: the line of the steps that left it as it was, the
    #: learning rate, and the largest slope; and those that a step has changed.
    unmoved: dict[int, tuple[torch.Tensor, int, float, float]] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)
    #: The ids of the parameters that had a gradient other than 0 in a step.
    driven: set[int] = field(default_factory=set)
    #: By id of a parameter: the line of a step that moved an element which was 0 and had a gradient
    #: of 0, and where that element is.
    revived: dict[int, tuple[torch.Tensor, int, int]] = field(default_factory=dict)
    #: The line of a step that used gradients which a GradScaler had scaled, and the factor.
    scaled: tuple[int, float] = (0, 0.0)
    skipped: dict[str, int] = field(default_factory=dict)
    moved: dict[str, tuple[int, CapturedValues, CapturedValues]] = field(default_factory=dict)
    driven_on: set[int] = field(default_factory=set)
    empty_step: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """The name of its class: "SGD"."""
        return type(self.optimizer).__name__

    def parameters(self) -> list[torch.Tensor]:
        return [p for parameters, _ in self._groups() for p in parameters]

    def group_of(self, tensor: torch.Tensor) -> dict[str, Any]:
        groups = self._groups()
        return next((g for parameters, g in groups if any(p is tensor for p in parameters)), {})

    def remembers(self, parameter: torch.Tensor) -> bool:
        """Whether its running mean of the gradients of a parameter is not 0."""
        state = self.optimizer.__dict__.get("state")
        kept = state.get(parameter) if isinstance(state, dict) else None
        means = [kept.get(key) for key in RUNNING_MEANS] if isinstance(kept, dict) else []
        return any(isinstance(mean, torch.Tensor) and bool(mean.any()) for mean in means)

    def _groups(self) -> Iterator[tuple[list[torch.Tensor], dict[str, Any]]]:
        """The groups with their tensors; a program may put objects of any type into these lists."""
        for group in self.optimizer.__dict__.get("param_groups", ()):
            parameters = group.get("params") if isinstance(group, dict) else None
            if isinstance(parameters, list | tuple):
                yield [p for p in parameters if isinstance(p, torch.Tensor)], group


@dataclass
class ScheduleUse:
    """A scheduler of the learning rate, and the line that made it. `first` is the line of its first
    step, and `is_early` says whether its optimizer had made none by then."""

    scheduler: Any
    line: int
    calls: int = 0
    first: int = 0
    is_early: bool = False


@dataclass(slots=True, eq=False)
class Entry:
    """Something that was observed.

    It was the `time`-th of all, and happened when its line ran for the `visit`-th time, after so
    many backward `passes`, in a `mode` of autograd: "grad", "no_grad" or "inference". `object` is
    the serial number of what it happened to, 0 for nothing. The other fields are those of `Event`;
    what is not shown as an event has the number 0. The same has happened `times` times, the last
    as number `until`.
    """

    time: int
    kind: str
    line: int
    visit: int
    passes: int
    mode: str
    object: int
    number: int = 0
    what: str = ""
    name: str = ""
    changes: tuple[Change, ...] = ()
    times: int = 1
    until: int = 0

    @property
    def latest(self) -> int:
        """The time of the last."""
        return max(self.time, self.until)

    def event(self) -> Event:
        """As plain data."""
        return Event(
            self.number, self.kind, self.line or None, self.what, self.name, self.changes,
            visit=self.visit, mode=self.mode, object=self.object, times=self.times,
            until=self.until,
        )  # fmt: skip


class EventLog:
    """The log of one run, and what the answers need to know about its hooks and optimizers."""

    def __init__(self) -> None:
        #: What is shown: the first entries, and the last ones.
        self.first: list[Entry] = []
        self.last: deque[Entry] = deque(maxlen=limits.LAST_EVENTS)
        self.count = 0
        #: How many entries there have been.
        self.time = 0
        #: By kind and object: what is observed without being shown.
        self._observations: dict[tuple[str, int], list[Entry]] = {}
        #: Tensors whose gradient was read while it was None: what is said of it needs them.
        self._read: list[Any] = []
        #: Entries of iterations that are not recorded, by what they have in common.
        self._merged: dict[tuple[Any, ...], Entry] = {}
        #: How many objects have a number; and by id, which may be that of another object by now.
        self._seen = 0
        self._serials: dict[int, tuple[weakref.ref[Any], int]] = {}
        #: The calls of hooks on tensors, and the one that is running.
        self.hook_calls: list[HookCall] = []
        self.hook_uses: list[HookUse] = []
        self.running_hook: HookCall | None = None
        #: By id of the optimizer.
        self.optimizers: dict[int, OptimizerUse] = {}
        #: By id of the scheduler.
        self.schedules: dict[int, ScheduleUse] = {}
        #: The lines that called `retain_grad`.
        self.retain_grad_lines: list[int] = []

    @property
    def steps(self) -> int:
        """How many steps all optimizers have done."""
        return sum(use.steps for use in self.optimizers.values())

    def all_events(self) -> tuple[Event, ...]:
        """The events that are kept, in the order they ran."""
        return tuple(entry.event() for entry in (*self.first, *self.last))

    def serial(self, thing: Any) -> int:
        """The number of this object: that of the moment it was first asked for, from 1."""
        known = self._serials.get(id(thing))
        if known is None or known[0]() is not thing:
            self._seen += 1
            known = self._serials[id(thing)] = weakref.ref(thing), self._seen
        return known[1]

    def add(
        self,
        kind: str,
        line: int,
        what: str,
        name: str = "",
        changes: Sequence[Change] = (),
        *,
        visit: int = 0,
        passes: int = 0,
        thing: Any = None,
        is_recorded: bool = True,
    ) -> None:
        """Log an event; the fields are those of `Event`, with line 0 where it is not known. One of
        an iteration that is not recorded adds to the one before of its kind, line and text."""
        self.count += 1
        if not is_recorded:
            key = kind, line, what
            merged = self._merged.get(key)
            if merged is not None:
                merged.times, merged.until = merged.times + 1, self.count
                return
        entry = self._entry(kind, line, visit, passes, thing)
        entry.number = entry.until = self.count
        entry.what, entry.name, entry.changes = what, name, tuple(changes[: limits.MOST_CHANGES])
        if not is_recorded:
            self._merged[key] = entry
        if len(self.first) < limits.FIRST_EVENTS:
            self.first.append(entry)
        else:
            self.last.append(entry)

    def observe(self, kind: str, thing: Any, line: int, visit: int = 0, passes: int = 0) -> None:
        """Log what is not shown as an event of its own: that a gradient was cleared ("clear"), or
        read while it was None ("read"), that requires_grad was set ("freeze", "unfreeze")."""
        seen = self._observations.setdefault((kind, self.serial(thing)), [])
        if kind == "read" and len(self._read) < limits.MOST_READ:
            self._read.append(thing)
        entry = self._entry(kind, line, visit, passes, thing)
        if len(seen) > 1 and seen[-1].line == line:
            seen[-1].times, seen[-1].until = seen[-1].times + 1, entry.time
        elif len(seen) < limits.MOST_OBSERVATIONS:
            seen.append(entry)
        else:
            seen[-1] = entry

    def observations_of(self, kind: str, thing: Any) -> Sequence[Entry]:
        """What was observed of an object, in order; of very many, the first and the last."""
        known = self._serials.get(id(thing))
        if known is None or known[0]() is not thing:
            return ()
        return self._observations.get((kind, known[1]), ())

    def things(self, kind: str) -> Iterator[tuple[Any, Entry]]:
        """Each object of which this was observed, if it still lives, with the first time."""
        living = {number: thing() for thing, number in self._serials.values()}
        for (observed, number), entries in self._observations.items():
            if observed == kind and (thing := living.get(number)) is not None:
                yield thing, entries[0]

    def add_hook_call(self, call: HookCall) -> None:
        """Keep a hook call, if it is one of the first."""
        if len(self.hook_calls) < limits.FIRST_EVENTS:
            self.hook_calls.append(call)

    def _entry(self, kind: str, line: int, visit: int, passes: int, thing: Any) -> Entry:
        self.time += 1
        number = 0 if thing is None else self.serial(thing)
        return Entry(self.time, kind, line, visit, passes, mode_of_autograd(), number)


def mode_of_autograd() -> str:
    """ "grad", "no_grad" or "inference"."""
    if torch.is_inference_mode_enabled():
        return "inference"
    return "grad" if torch.is_grad_enabled() else "no_grad"


def take_snapshot(tensor: torch.Tensor | None) -> Snapshot:
    """A copy of a small tensor's values; of a large one only its shape."""
    if tensor is None:
        return None
    return (
        CapturedValues(tensor)
        if tensor.numel() <= limits.MOST_EVENT_ELEMENTS
        else Unkept(tuple(tensor.shape))
    )


def make_change(name: str, before: Snapshot, after: Snapshot) -> Change:
    """What an event did to one tensor, as plain data."""
    return Change(name, _plain(before), _plain(after))


def _plain(values: Snapshot) -> Array | Unkept | None:
    return values.array() if isinstance(values, CapturedValues) else values
