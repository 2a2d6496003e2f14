"""The tensors a program makes, remembered by where they were made and by autograd's nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch import nn

from explorer.language import OutsideLanguage, Watcher
from explorer.trace.capture import Kept, keep
from explorer.trace.history import Cut
from explorer.trace.modules import named_modules, named_parameters

#: Visits of one place that are kept: the first three, and the last.
FIRST = 3
#: Most elements one tensor may have.
MAX_ELEMENTS = 20_000_000
#: Tensors looked at inside one list, or one object of the reader's own; parameters of a module.
MAX_ITEMS, MAX_PARAMETERS = 20, 200
#: Longest name of a tensor or module; a program may use keys of any length.
MAX_NAME = 200


class LiveTensor:
    """One tensor at the moment it was met. Holds it, so that its ids stay true until the end."""

    def __init__(self, number: int, line: int, name: str, tensor: torch.Tensor) -> None:
        self.number, self.line, self.name = number, line, name
        self.tensor = tensor
        self.grad_fn = tensor.grad_fn
        self.output_nr = tensor.output_nr
        self.version = -1 if tensor.is_inference() else tensor._version
        self.requires_grad, self.is_leaf = tensor.requires_grad, tensor.is_leaf
        self.kept = keep(tensor)
        self.grad: Kept | None = None
        self.named, self.scope, self.visit = False, "", 1
        #: The line of the statement that was running, and how often it had run.
        self.statement = line
        #: The operation that made it, the records of its inputs, and those without a gradient.
        self.operation = ""
        self.inputs: tuple[LiveTensor, ...] = ()
        self.frozen: list[LiveTensor] = []
        #: Those inputs whose record held their values when the operation ran, by id.
        self.fresh: frozenset[int] = frozenset()
        #: The name this tensor was first given; a loop may give it others later.
        self.first_name = ""
        #: Where the inputs without a gradient had lost their history.
        self.cuts: tuple[Cut, ...] = ()
        #: The line that first used it, and the innermost module it was made in.
        self.used = 0
        self.module: nn.Module | None = None

    def is_current(self) -> bool:
        """Whether the tensor still is what it was, small changes through `.data` included."""
        tensor = self.tensor
        if tensor.is_inference():
            return True
        return (
            tensor._version == self.version
            and tensor.grad_fn is self.grad_fn
            and tensor.requires_grad == self.requires_grad
            and self.kept.same_as(tensor)
        )


class Memory(Watcher):
    """Remembers tensors. Of one place in the program the first visits and the last are kept."""

    def __init__(self, capture: str = "hook", **limits: Any) -> None:
        super().__init__(**limits)
        self.capture = capture
        self.slots: dict[Any, list[LiveTensor]] = defaultdict(list)
        self.visits: dict[Any, int] = defaultdict(int)
        self.runs: dict[int, int] = defaultdict(int)
        self.calls: dict[str, int] = defaultdict(int)
        self.made: dict[tuple[int, int], list[LiveTensor]] = {}
        self.leaves: dict[int, LiveTensor] = {}
        self.modules: dict[int, tuple[str, nn.Module]] = {}
        self.number = 0

    def every(self) -> list[LiveTensor]:
        """All records, in the order they were made."""
        return sorted(
            (seen for slot in self.slots.values() for seen in slot), key=lambda seen: seen.number
        )

    def add(self, position: Any, line: int, name: str, tensor: torch.Tensor) -> LiveTensor:
        """Remember a tensor; of one position the first visits and the last are kept."""
        self.number += 1
        seen = LiveTensor(self.number, line, name, tensor)
        slot = self.slots[position]
        self.visits[position] += 1
        seen.statement = self.line
        seen.visit = max(self.visits[position], self.runs[self.line])
        if len(slot) > FIRST:
            self.forget(slot.pop())
        slot.append(seen)
        if seen.grad_fn is None:
            self.leaves[id(tensor)] = seen
        else:
            self.made.setdefault((id(seen.grad_fn), seen.output_nr), []).append(seen)
            if self.capture == "retain_grad":
                tensor.retain_grad()
        return seen

    def forget(self, seen: LiveTensor) -> None:
        seen.inputs, seen.frozen = (), []  # or each record would keep all before it
        if seen.grad_fn is None:
            if self.leaves.get(id(seen.tensor)) is seen:
                del self.leaves[id(seen.tensor)]
            return
        key = (id(seen.grad_fn), seen.output_nr)
        rest = [other for other in self.made.get(key, []) if other is not seen]
        if rest:
            self.made[key] = rest
        else:
            self.made.pop(key, None)

    def refreshed(self, leaf: torch.Tensor) -> LiveTensor | None:
        """The record of a leaf as it is now: a new one if it was changed since the last."""
        old = self.leaves.get(id(leaf))
        if old is None or old.is_current():
            return old
        new = self.add(("changed", old.name), old.line, old.name, leaf)
        new.named, new.scope, new.first_name = old.named, old.scope, old.first_name
        return new

    def find(self, tensor: torch.Tensor) -> LiveTensor | None:
        """The latest record of this tensor, if it was met before."""
        if tensor.grad_fn is None:
            return self.leaves.get(id(tensor))
        found = self.made.get((id(tensor.grad_fn), tensor.output_nr))
        return found[-1] if found else None

    def name_of(self, tensor: torch.Tensor) -> str:
        """What the reader calls it; empty if it was never met."""
        seen = self.find(tensor)
        if seen is None and tensor._is_view() and tensor._base is not None:
            seen = self.find(tensor._base)
        return (seen.first_name or seen.name) if seen is not None else ""

    def check_size(self, tensor: torch.Tensor) -> None:
        if tensor.numel() > MAX_ELEMENTS:
            raise OutsideLanguage(
                f"This makes a tensor of {tensor.numel():,} elements; the limit is "
                f"{MAX_ELEMENTS:,}.",
                "Use smaller shapes.",
            )

    # -- names --------------------------------------------------------------------------------

    def bind_value(self, place: int, name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self.bind_tensor(place, name, value)
        elif isinstance(value, nn.Module):
            if name != "self":
                self.bind_parameters(place, name, value)
        else:
            for label, item in _items(name, value):
                if isinstance(item, torch.Tensor):
                    self.bind_tensor(place, label, item)
                elif isinstance(item, nn.Module):
                    self.bind_parameters(place, label, item)

    def bind_parameters(self, place: int, name: str, module: nn.Module) -> None:
        if self.module_name(module) != name:
            for path, part in named_modules(module):
                self.modules[id(part)] = (below(name, path), part)
        for label, parameter in islice(named_parameters(module), MAX_PARAMETERS):
            self.bind_tensor(place, below(name, label), parameter)

    def bind_tensor(self, place: int, name: str, tensor: torch.Tensor) -> None:
        self.check_size(tensor)
        where = self.places[place]
        shown = name
        if where.scope:
            shown = f"{where.scope.split('.')[-1]}.{name}_{self.calls[where.scope]}"
        seen = self.find(tensor)
        if seen is not None and seen.tensor is tensor and seen.is_current():
            if seen.named and (where.scope or seen.name == shown):
                return
            if not seen.named:
                seen.name, seen.named, seen.scope = shown, True, where.scope
                seen.line = where.line
                return
        elif seen is not None and seen.named and where.scope:
            return
        new = self.add(("bind", place, name), where.line, shown, tensor)
        new.named, new.scope = True, where.scope
        if seen is not None and seen.tensor is tensor:
            new.operation, new.inputs, new.fresh = seen.operation, seen.inputs, seen.fresh
            new.cuts, new.module, new.frozen = seen.cuts, seen.module, seen.frozen
            new.first_name = seen.first_name or (seen.name if seen.named else "")

    def module_name(self, module: nn.Module | None) -> str:
        """The path the reader knows a module by ("net.fc"), or its class."""
        if module is None:
            return ""
        known = self.modules.get(id(module))
        return known[0] if known else type(module).__name__

    def named_leaves(self) -> dict[str, torch.Tensor]:
        return {
            seen.name: seen.tensor
            for seen in self.leaves.values()
            if seen.named and seen.requires_grad
        }


def below(name: str, path: str) -> str:
    """The name of what stands at `path` in the thing called `name`."""
    return f"{name}.{path}"[:MAX_NAME] if path else name


def _items(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a list, a dict or an object of the reader's own, by how they are written."""
    if isinstance(value, list | tuple):
        yield from ((f"{name}[{i}]", item) for i, item in enumerate(value[:MAX_ITEMS]))
    elif isinstance(value, dict):
        pairs = list(value.items())[:MAX_ITEMS]
        plain = ((key, item) for key, item in pairs if isinstance(key, str | int))
        yield from ((f"{name}[{key!r}]"[:MAX_NAME], item) for key, item in plain)
    elif type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
        fields = list(vars(value).items())[:MAX_ITEMS]
        yield from ((below(name, field), item) for field, item in fields)
