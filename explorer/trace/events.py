"""The log of everything other than operations: hook calls, optimizer steps, cleared gradients.

Each becomes an `Event`, in the order they ran; of very many, the first and the last are kept.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from explorer.trace.capture import CapturedValues
from explorer.trace.records import Array, Change, Event, Unkept

#: How many of the first events, and of the last ones, are kept.
FIRST_EVENTS, LAST_EVENTS = 200, 100
#: Most elements of a tensor whose values an event records, and most tensors in one event.
MOST_ELEMENTS, MOST_CHANGES = 64, 20

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
    required a gradient, and `made` is that moment in `Bindings.number`. `skipped` holds the
    parameters that a step did not change because they had no gradient, with the line. `moved`
    holds those it changed although their gradient was zero, with the line and their values before
    and after, and `driven_on` the ids of those of them whose running mean was not 0 before that
    step. `empty_step` holds the line of a step that ran when all gradients were cleared, and
    the line of the zero_grad that cleared them.
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


class EventLog:
    """The events of one run, and what the answers need to know about its hooks and optimizers."""

    def __init__(self) -> None:
        self.first: list[Event] = []
        self.last: deque[Event] = deque(maxlen=LAST_EVENTS)
        self.count = 0
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

    def all_events(self) -> tuple[Event, ...]:
        """The events that are kept, in the order they ran."""
        return (*self.first, *self.last)

    def add(
        self, kind: str, line: int, what: str, name: str = "", changes: Sequence[Change] = ()
    ) -> None:
        """Log an event; the fields are those of `Event`, with line 0 where it is not known."""
        self.count += 1
        event = Event(self.count, kind, line or None, what, name, tuple(changes[:MOST_CHANGES]))
        if len(self.first) < FIRST_EVENTS:
            self.first.append(event)
        else:
            self.last.append(event)

    def add_hook_call(self, call: HookCall) -> None:
        """Keep a hook call, if it is one of the first."""
        if len(self.hook_calls) < FIRST_EVENTS:
            self.hook_calls.append(call)


def take_snapshot(tensor: torch.Tensor | None) -> Snapshot:
    """A copy of a small tensor's values; of a large one only its shape."""
    if tensor is None:
        return None
    return (
        CapturedValues(tensor) if tensor.numel() <= MOST_ELEMENTS else Unkept(tuple(tensor.shape))
    )


def make_change(name: str, before: Snapshot, after: Snapshot) -> Change:
    """What an event did to one tensor, as plain data."""
    return Change(name, _plain(before), _plain(after))


def _plain(values: Snapshot) -> Array | Unkept | None:
    return values.array() if isinstance(values, CapturedValues) else values
