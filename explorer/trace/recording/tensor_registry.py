"""The tensors of a program, by their position in its source and by their autograd node."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import Any

import torch
from torch import nn

from explorer import limits
from explorer.program import Limits, Watcher
from explorer.trace.recording.capture import CapturedValues, capture_values
from explorer.trace.recording.cuts import Cut
from explorer.trace.recording.objects import (
    grad_fn_of,
    has_no_shape,
    history_of,
    is_a,
    items_of,
    join_path,
    named_modules,
    named_parameters,
    tangent_of,
)

#: In the position of the records of leaves that `refresh` makes.
_CHANGED = "changed"
#: The same at the end of the program.
_FINAL = "final"
NO_SHAPE = "no shape yet: the first call of its layer decides it"
NESTED = "a nested tensor: its parts are not shown"


class LiveTensor:
    """A tensor as it was when it was recorded. It is held here, so that its id is not reused."""

    def __init__(self, number: int, line: int, name: str, tensor: torch.Tensor) -> None:
        self.number, self.line, self.name = number, line, name
        self.tensor = tensor
        self.requires_grad, self.grad_fn = history_of(tensor)
        self.output_nr = tensor.output_nr
        self.version = -1 if tensor.is_inference() else tensor._version
        self.is_leaf = self.grad_fn is None
        self.captured = capture_values(tensor)
        tangent = tangent_of(tensor)
        self.tangent = None if tangent is None else capture_values(tangent)
        self.grad: CapturedValues | None = None
        #: The record of the same tensor under another name before, and whether this one is kept.
        self.earlier: LiveTensor | None = None
        self.is_kept = True
        self.named, self.scope, self.visit = False, "", 1
        #: What there is to say about it, in a few words.
        self.note = NESTED if tensor.is_nested else NO_SHAPE if has_no_shape(tensor) else ""
        #: Whether it is one of `TensorRegistry.between`.
        self.is_between = False
        #: The line of the statement that was running, and how often it had run.
        self.statement = line
        #: The operation that computed it, the records of its inputs, and those of the inputs that
        #: need no gradient.
        self.operation = ""
        self.inputs: tuple[LiveTensor, ...] = ()
        self.frozen: list[LiveTensor] = []
        #: The ids of the inputs whose record was up to date when the operation ran.
        self.current_inputs: frozenset[int] = frozenset()
        #: The first name the program gave this tensor; a loop may give it others later.
        self.first_name = ""
        #: Where the inputs that need no gradient were cut from the graph.
        self.cuts: tuple[Cut, ...] = ()
        #: How many backward passes had begun when it was recorded.
        self.passes = 0
        #: The line that first used it, and the innermost module that computed it.
        self.first_use = 0
        self.module: nn.Module | None = None

    @property
    def own_name(self) -> str:
        """Its name as its line writes it: that of a function's variable is shown as "forward.h_1"
        elsewhere."""
        inner = self.name.partition(".")[2].rpartition("_")[0]
        return inner if self.scope and self.named and inner else self.name

    def follow_gradient(self) -> None:
        """Record its gradient in a pass whose nodes are not observed, as that of a checkpoint."""
        if self.requires_grad and self.grad_fn is not None:

            def keep(grad: torch.Tensor) -> None:
                self.grad = capture_values(grad)

            self.tensor.register_hook(keep)

    def is_current(self) -> bool:
        """Whether the tensor is unchanged; a small one is also compared by its values."""
        tensor = self.tensor
        if tensor.is_inference():
            return True
        return (
            tensor._version == self.version
            and history_of(tensor) == (self.requires_grad, self.grad_fn)
            and self.captured.still_equals(tensor)
        )


class TensorRegistry(Watcher):
    """Records tensors: for each position in the program, those of the first visits and the last."""

    def __init__(
        self, until: Limits | None = None, *, capture: str = "hook", iteration: int | None = None
    ) -> None:
        super().__init__(until)
        self.capture, self.iteration = capture, iteration
        #: How many parameters of a module get a name.
        self.most_parameters = limits.MAX_PARAMETERS
        #: The records of the chosen iteration, and of leaves that have had none since.
        self.chosen: list[LiveTensor] = []
        self.slots: dict[Any, list[LiveTensor]] = defaultdict(list)
        self.visits: dict[Any, int] = defaultdict(int)
        #: Whether the running statement is one of those between the first and the last iterations
        #: of a loop, and the records of such statements: they name tensors that are still in use.
        self.is_between = False
        self.between: dict[Any, LiveTensor] = {}
        #: The lines that have run since they were last recorded.
        self.stale: set[int] = set()
        #: Whether a record has been made since the last pass, which may tell its gradient.
        self.awaits_gradient = False
        #: By place: how often a tensor was assigned there while nothing was recorded.
        self.unrecorded_visits: dict[int, int] = defaultdict(int)
        #: How often each function has been called.
        self.call_counts: dict[str, int] = defaultdict(int)
        #: By the id of the autograd node that computed them, and the number of its output.
        self.by_output: dict[tuple[int, int], list[LiveTensor]] = {}
        #: Tensors without a node, and the paths of modules, by id.
        self.leaves: dict[int, LiveTensor] = {}
        self.modules: dict[int, tuple[str, nn.Module]] = {}
        #: The modules that only functions have given a name.
        self.inner_modules: set[int] = set()
        self.number = 0
        #: Whether records are made only to be shown, of a program that goes on; see
        #: `as_if_finished`.
        self.keeps_nothing = False
        #: How many backward passes have begun.
        self.pass_count = 0
        #: What is said about the tensors that are recorded now; see `repetitions`.
        self.mark = ""
        #: Whether they belong to a backward pass whose nodes are not observed.
        self.follows_gradients = False

    @property
    def recorded(self) -> int:
        return self.number

    def all_tensors(self) -> list[LiveTensor]:
        """All records, oldest first."""
        kept = (live for slot in self.slots.values() for live in slot)
        return sorted((*kept, *self.chosen), key=lambda live: live.number)

    def add(self, position: Any, line: int, name: str, tensor: torch.Tensor) -> LiveTensor:
        """Record a tensor; for each position, the first visits and the last are kept."""
        self.number += 1
        live = LiveTensor(self.number, line, name, tensor)
        live.statement, live.passes = self.line, self.pass_count
        if self.keeps_nothing:
            self.chosen.append(live)
            return live
        if self.mark:
            live.note, position = live.note or self.mark, (self.mark, position)
            if self.follows_gradients:
                live.follow_gradient()
        self.visits[position] += 1
        if self.is_between:
            self.remove(self.between.pop(position, None))
            self.between[position], live.is_between = live, True
        else:
            slot = self.slots[position]
            if len(slot) > limits.FIRST_VISITS:
                if slot[-1].visit == self.iteration:
                    self.chosen.append(slot.pop())
                else:
                    self.remove(slot.pop())
            slot.append(live)
            self.awaits_gradient |= live.grad_fn is not None
        live.visit = max(self.visits[position], self.run_counts[self.line])
        if live.grad_fn is None:
            self.leaves[id(tensor)] = live
        else:
            self.by_output.setdefault((id(live.grad_fn), live.output_nr), []).append(live)
            if self.capture == "retain_grad":
                tensor.retain_grad()
        return live

    def remove(self, live: LiveTensor | None) -> None:
        if live is None:
            return
        live.inputs, live.frozen = (), []  # or each record would keep all earlier ones alive
        live.is_kept, earlier = False, live.earlier
        if live.grad_fn is None:
            if self.leaves.get(id(live.tensor)) is live:
                if earlier is not None and earlier.is_kept:
                    self.leaves[id(live.tensor)] = earlier
                else:
                    del self.leaves[id(live.tensor)]
            return
        key = (id(live.grad_fn), live.output_nr)
        others = [other for other in self.by_output.get(key, []) if other is not live]
        if others:
            self.by_output[key] = others
        else:
            self.by_output.pop(key, None)

    def refresh(self, leaf: torch.Tensor, *, at_end: bool = False) -> LiveTensor | None:
        """The record of a leaf as it is now: a new one if the leaf has changed since the last. That
        `at_end` takes the place of no other."""
        old = self.leaves.get(id(leaf))
        if old is None or old.is_current():
            return old
        new = self.add((_FINAL if at_end else _CHANGED, old.name), old.line, old.name, leaf)
        new.visit = self.run_counts.get(self.line, 0)
        new.named, new.scope, new.first_name = old.named, old.scope, old.first_name
        return new

    def find(self, tensor: torch.Tensor) -> LiveTensor | None:
        """The latest record of this tensor, if there is one."""
        node = grad_fn_of(tensor)
        if node is None:
            return self.leaves.get(id(tensor))
        records = self.by_output.get((id(node), tensor.output_nr))
        return records[-1] if records else None

    def name_of(self, tensor: torch.Tensor) -> str:
        """The program's name for a tensor; empty if it was never recorded."""
        live = self.find(tensor)
        if live is None and tensor._is_view() and tensor._base is not None:
            live = self.find(tensor._base)
        return (live.first_name or live.name) if live is not None else ""

    # -- names --------------------------------------------------------------------------------

    def bind_value(self, place: int, name: str, value: Any) -> None:
        """Name the tensors in `value`, which the program assigned to `name`."""
        if is_a(value, torch.Tensor):
            self.bind_tensor(place, name, value)
        elif is_a(value, nn.Module):
            if name != "self":
                self.bind_parameters(place, name, value)
        else:
            for label, item in items_of(name, value):
                if is_a(item, torch.Tensor):
                    self.bind_tensor(place, label, item)
                elif is_a(item, nn.Module):
                    self.bind_parameters(place, label, item)

    def bind_parameters(self, place: int, name: str, module: nn.Module) -> None:
        # A function's own name for a module ("block") stands only until there is a better one.
        is_inner = bool(self.locations[place].scope)
        if not self.module_path(module) or (id(module) in self.inner_modules and not is_inner):
            for path, part in named_modules(module):
                self.modules[id(part)] = (join_path(name, path), part)
                (self.inner_modules.add if is_inner else self.inner_modules.discard)(id(part))
        for label, parameter in islice(named_parameters(module), self.most_parameters):
            self.bind_tensor(place, join_path(name, label), parameter)

    def bind_tensor(self, place: int, name: str, tensor: torch.Tensor) -> None:
        location, shown = self.locations[place], self.shown_name(place, name)
        unrecorded = self.unrecorded_visits.pop(place, 0)  # as this one, with a record or without
        live = self.find(tensor)
        if live is not None and live.tensor is tensor and live.is_current():
            if live.named and (location.scope or live.name == shown):
                return
            if not live.named:
                live.name, live.named, live.scope = shown, True, location.scope
                live.line = location.line
                self._count_at(live)
                return
        elif live is not None and live.named and location.scope:
            return
        position = ("bind", place, name)
        self.visits[position] += unrecorded
        new = self.add(position, location.line, shown, tensor)
        new.named, new.scope = True, location.scope
        self._count_at(new)
        if live is not None and live.tensor is tensor:
            new.earlier = live if live.is_kept else None
            new.operation, new.inputs, new.frozen = live.operation, live.inputs, live.frozen
            new.current_inputs, new.cuts, new.module = live.current_inputs, live.cuts, live.module
            if ".parametrizations." not in shown:  # else the old name is that of its result now
                new.first_name = live.first_name or (live.name if live.named else "")
            new.note = new.note or live.note

    def _count_at(self, live: LiveTensor) -> None:
        """Count the runs of the line that gives the name: a function has run other lines since."""
        if count := self.run_counts.get(live.line):
            live.statement, live.visit = live.line, max(count, live.visit)

    def shown_name(self, place: int, name: str) -> str:
        """The name of a variable, in a function with that of the function and its call."""
        return self.name_in(self.locations[place].scope, name)

    def name_in(self, scope: str, name: str) -> str:
        """The name of a variable of this function."""
        return f"{scope.split('.')[-1]}.{name}_{self.call_counts[scope]}" if scope else name

    def module_name(self, module: nn.Module | None) -> str:
        """The path of a module in the program ("net.fc"), or the name of its class."""
        if module is None:
            return ""
        return self.module_path(module) or type(module).__name__

    def module_path(self, module: nn.Module | None) -> str:
        """The same, but empty for a module that has no name."""
        return self.modules[id(module)][0] if id(module) in self.modules else ""

    def named_leaves(self) -> dict[str, torch.Tensor]:
        return {
            live.name: live.tensor
            for live in self.leaves.values()
            if live.named and live.requires_grad
        }
