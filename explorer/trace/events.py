"""What the program set in motion besides operations: hooks, optimizer steps, cleared gradients.

Each becomes an `Event`, in the order they ran; of very many the first and the last are kept.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from explorer.trace.capture import Kept
from explorer.trace.modules import named_parameters
from explorer.trace.records import Array, Change, Event, Unkept

if TYPE_CHECKING:
    from explorer.trace.recorder import Recorder

#: Events kept: this many first ones, and this many last ones.
FIRST_EVENTS, LAST_EVENTS = 200, 100
#: Most elements of a tensor whose values an event keeps; tensors in one event.
MOST_ELEMENTS, MOST_CHANGES = 64, 20

#: A tensor as an event finds it: its values, if there are few; None where there is no tensor.
Snapshot = Kept | Unkept | None

_quiet = torch._C.DisableTorchFunction


@dataclass
class HookCall:
    """One call of a hook on a tensor: what went in, what it returned."""

    line: int
    name: str
    is_leaf: bool
    kind: str
    gradient: Snapshot
    #: The names under which hooks were put on this tensor; one list for all its calls.
    hooks: list[str]
    tensor: torch.Tensor | None
    given: torch.Tensor | None
    returned: Snapshot = None
    is_replaced: bool = False
    argument: str = ""
    dropped: str = ""
    read_grad: int = 0

    def bound(self, name: str, value: Any) -> None:
        """Inside the hook, `name` was given a value: a new one for its own argument is lost."""
        if value is not None and value is self.given:
            self.argument = self.argument or name
        elif name == self.argument and isinstance(value, torch.Tensor):
            self.dropped = name

    def reads(self, tensor: torch.Tensor, line: int) -> None:
        """Inside the hook, `.grad` of this tensor was read and was None."""
        if tensor is self.tensor:
            self.read_grad = line


@dataclass
class Held:
    """An optimizer the program used, and what its steps did."""

    optimizer: torch.optim.Optimizer
    line: int
    steps: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    moved: dict[str, tuple[int, Kept, Kept]] = field(default_factory=dict)
    empty: tuple[int, int] | None = None

    def parameters(self) -> list[torch.Tensor]:
        return [p for parameters, _ in self._groups() for p in parameters]

    def group_of(self, tensor: torch.Tensor) -> dict[str, Any]:
        groups = self._groups()
        return next((g for parameters, g in groups if any(p is tensor for p in parameters)), {})

    def _groups(self) -> Iterator[tuple[list[torch.Tensor], dict[str, Any]]]:
        """The groups with their tensors; a program may have put anything else into these lists."""
        for group in self.optimizer.param_groups:
            given = group.get("params") if isinstance(group, dict) else None
            if isinstance(given, list | tuple):
                yield [p for p in given if isinstance(p, torch.Tensor)], group


class Events:
    """Keeps the events of one run, and wraps what the program registers so that it is seen."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.first: list[Event] = []
        self.last: deque[Event] = deque(maxlen=LAST_EVENTS)
        self.count = 0
        self.hook_calls: list[HookCall] = []
        self.hooks_on: dict[int, tuple[weakref.ref[torch.Tensor], list[str]]] = {}
        self.running: HookCall | None = None
        self.optimizers: dict[int, Held] = {}
        self.last_zero = (0, -1)
        self.retained: list[int] = []

    def all(self) -> tuple[Event, ...]:
        return (*self.first, *self.last)

    def add(self, kind: str, what: str, name: str = "", changes: Sequence[Change] = ()) -> None:
        self.count += 1
        line = self.recorder.line or None
        event = Event(self.count, kind, line, what, name, tuple(changes[:MOST_CHANGES]))
        if len(self.first) < FIRST_EVENTS:
            self.first.append(event)
        else:
            self.last.append(event)

    # -- hooks --------------------------------------------------------------------------------

    def register(
        self, what: str, receiver: Any, method: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Register the program's hook inside one that tells of its calls."""
        given = dict(kwargs)
        hook = args[0] if args else given.pop("hook", None)
        if not callable(hook):
            return method(*args, **kwargs)
        wrap = self._on_tensor if isinstance(receiver, torch.Tensor) else self._on_module
        return method(wrap(what.split(".")[1], receiver, hook), *args[1:], **given)

    def _on_tensor(
        self, kind: str, tensor: torch.Tensor, hook: Callable[..., Any]
    ) -> Callable[..., Any]:
        name = self.recorder.name_of(tensor)
        known = self.hooks_on.get(id(tensor))
        if known is None or known[0]() is not tensor:
            known = self.hooks_on[id(tensor)] = (weakref.ref(tensor), [])
        hooks = known[1]
        hooks.append(name)
        of = weakref.ref(tensor)
        is_leaf = tensor.is_leaf

        def told(given: torch.Tensor) -> Any:
            accumulated = kind == "register_post_accumulate_grad_hook"
            gradient = snapshot(given.grad if accumulated else given)
            target = of()
            shown = name or (self.recorder.name_of(target) if target is not None else "")
            line = self.recorder.line
            call = HookCall(line, shown, is_leaf, kind, gradient, hooks, target, given)
            with self.recorder.inside(call):
                result = hook(given)
            call.tensor = call.given = None  # or the calls would keep the graphs
            if isinstance(result, torch.Tensor):
                call.returned, call.is_replaced = snapshot(result), True
            if len(self.hook_calls) < FIRST_EVENTS:
                self.hook_calls.append(call)
            said = "returned a tensor, which replaces the gradient" if call.is_replaced else ""
            what = f"{kind} on {shown or 'a tensor'} was called; it {said or 'returned None'}"
            self.add("hook", what, shown, [change("gradient", gradient, call.returned)])
            return result

        return told

    def _on_module(
        self, kind: str, module: nn.Module, hook: Callable[..., Any]
    ) -> Callable[..., Any]:
        def told(*args: Any, **kwargs: Any) -> Any:
            shown = self.recorder.module_name(args[0] if args else module)
            with self.recorder.inside(None):
                result = hook(*args, **kwargs)
            said = "returned None" if result is None else "returned a value, which takes its place"
            self.add("hook", f"{kind} on {shown} was called; it {said}", shown)
            return result

        return told

    # -- optimizers ---------------------------------------------------------------------------

    def step(
        self, optimizer: torch.optim.Optimizer, run: Callable[[], Any], has_closure: bool
    ) -> Any:
        """`optimizer.step()`: see which parameters it changes, and with which gradient."""
        line = self.recorder.line
        with _quiet():
            held = self.held(optimizer)
            before = [(p, snapshot(p), p.grad) for p in held.parameters()]
            self._note_gradients(held, [p for p, _, _ in before])
        # A closure is the reader's code and is watched; torch's own arithmetic is not.
        with nullcontext() if has_closure else _quiet():
            result = run()
        self.recorder.line = line
        with _quiet():
            self._stepped(held, before)
        return result

    def _stepped(
        self, held: Held, before: list[tuple[torch.Tensor, Snapshot, torch.Tensor | None]]
    ) -> None:
        held.steps += 1
        changes = []
        for parameter, old, grad in before:
            name = self.recorder.name_of(parameter) or "a parameter"
            if grad is None and parameter.grad is None:
                held.skipped.setdefault(name, self.recorder.line)
                continue
            self.recorder.wrote("step", parameter)
            new = snapshot(parameter)
            changes.append(change(name, old, new))
            if isinstance(old, Kept) and isinstance(new, Kept):
                idle = grad is not None and not grad.any()
                if idle and not old.same_as(parameter) and name not in held.moved:
                    held.moved[name] = (self.recorder.line, old, new)
        self.add("step", f"{type(held.optimizer).__name__}.step()", "", changes)

    def _note_gradients(self, held: Held, parameters: list[torch.Tensor]) -> None:
        """A step after zero_grad, before another backward, finds nothing to do."""
        line, passes = self.last_zero
        if passes == self.recorder.pass_count > 0 and held.empty is None:
            gradients = [p.grad for p in parameters if p.grad is not None]
            if not any(bool(g.any()) for g in gradients):
                held.empty = (self.recorder.line, line)

    def zero_grad(self, receiver: Any, run: Callable[[], Any]) -> Any:
        """`optimizer.zero_grad()` or `model.zero_grad()`."""
        recorder = self.recorder
        with _quiet():
            if isinstance(receiver, nn.Module):
                parameters: list[torch.Tensor] = [p for _, p in named_parameters(receiver)]
            else:
                parameters = self.held(receiver).parameters()
            full = [p for p in parameters if p.grad is not None]
            before = [(recorder.name_of(p) or "a parameter", snapshot(p.grad), p) for p in full]
            result = run()
            for parameter in full:
                recorder.cleared[id(parameter)] = recorder.line
            if full:
                self.last_zero = (recorder.line, recorder.pass_count)
            changes = [change(f"{name}.grad", old, snapshot(p.grad)) for name, old, p in before]
        self.add("zero_grad", f"{type(receiver).__name__}.zero_grad()", "", changes)
        return result

    def held(self, optimizer: torch.optim.Optimizer) -> Held:
        return self.optimizers.setdefault(id(optimizer), Held(optimizer, self.recorder.line))


def snapshot(tensor: torch.Tensor | None) -> Snapshot:
    """A copy of a small tensor's values; of a large one only that it was there."""
    if tensor is None:
        return None
    return Kept(tensor) if tensor.numel() <= MOST_ELEMENTS else Unkept(tuple(tensor.shape))


def change(name: str, before: Snapshot, after: Snapshot) -> Change:
    return Change(name, _plain(before), _plain(after))


def _plain(found: Snapshot) -> Array | Unkept | None:
    return found.array() if isinstance(found, Kept) else found
