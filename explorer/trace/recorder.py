"""Watches a running program and remembers its tensors, where they were made, and its passes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from explorer.language import OutsideLanguage, Watcher
from explorer.trace import passes
from explorer.trace.capture import Kept
from explorer.trace.passes import RawPass

#: Visits of one place that are kept: the first three, and the last.
FIRST = 3
#: Most elements one tensor may have.
MAX_ELEMENTS = 20_000_000
#: Tensors looked at inside one list, or one object of the reader's own; parameters of a module.
MAX_ITEMS, MAX_PARAMETERS = 20, 200


class Seen:
    """One tensor at the moment it was met. Holds it, so that its ids stay true until the end."""

    def __init__(self, number: int, line: int, name: str, tensor: torch.Tensor) -> None:
        self.number, self.line, self.name = number, line, name
        self.tensor = tensor
        self.grad_fn = tensor.grad_fn
        self.output_nr = tensor.output_nr
        self.version = -1 if tensor.is_inference() else tensor._version
        self.requires_grad, self.is_leaf = tensor.requires_grad, tensor.is_leaf
        self.kept = Kept(tensor)
        self.grad: Kept | None = None
        self.named, self.scope, self.visit = False, "", 1
        self.frozen: list[Seen] = []

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


class _Operands(TorchFunctionMode):
    """Sees every torch operation, also inside layers: its result and its gradient-free inputs."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.recorder.ran(func, args, result)
        return result


class Recorder(Watcher):
    """Remembers what the program does; `explorer.trace.running` makes the Trace of it."""

    def __init__(self, capture: str = "hook", **limits: Any) -> None:
        super().__init__(**limits)
        self.capture = capture
        self.slots: dict[Any, list[Seen]] = defaultdict(list)
        self.visits: dict[Any, int] = defaultdict(int)
        self.calls: dict[str, int] = defaultdict(int)
        self.made: dict[tuple[int, int], list[Seen]] = {}
        self.leaves: dict[int, Seen] = {}
        self.first_passes: list[RawPass] = []
        self.last_pass: RawPass | None = None
        self.pass_count = 0
        self.number = 0
        self.ordinal = 0
        self.cleared: dict[int, int] = {}

    # -- what the program tells ---------------------------------------------------------------

    def watching(self) -> TorchFunctionMode:
        return _Operands(self)

    def step(self, line: int) -> None:
        self.ordinal = 0
        super().step(line)

    def enter(self, scope: str) -> None:
        self.calls[scope] += 1

    def note(self, place: int, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            with torch._C.DisableTorchFunction():
                seen = self.find(value)
                where = self.places[place]
                if seen is None and value.numel():
                    seen = self.add(("note", place), where.line, where.text, value)
                elif seen is not None and not seen.named and where.text:
                    seen.name = where.text
        return value

    def bind(self, place: int, name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor | nn.Module | list | tuple | dict) or hasattr(
            value, "__dict__"
        ):
            with torch._C.DisableTorchFunction():
                self.bind_value(place, name, value)

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        roots = _roots(what, receiver, args, kwargs)
        if roots:
            return self.backward(what, roots, lambda: function(*args, **kwargs))
        if what.endswith("zero_grad"):
            self.zeroed(receiver)
        return function(*args, **kwargs)

    # -- tensors ----------------------------------------------------------------------------

    def ran(self, func: Any, args: Any, result: torch.Tensor) -> None:
        """An operation gave `result`. Called with torch functions disabled."""
        if result.grad_fn is None:
            return
        self.check_size(result)
        key = (id(result.grad_fn), result.output_nr)
        if key not in self.made:
            self.ordinal += 1
            name = getattr(func, "__name__", "")
            seen = self.add((self.line, name, self.ordinal), self.line, name, result)
            seen.frozen = list(self.gradient_free(args))

    def gradient_free(self, args: Any) -> Iterator[Seen]:
        for arg in args:
            if isinstance(arg, torch.Tensor) and not arg.requires_grad:
                base = arg._base if arg._is_view() else None
                seen = self.leaves.get(id(arg)) or self.leaves.get(id(base))
                if seen is not None:
                    yield seen
            elif isinstance(arg, list | tuple):
                yield from self.gradient_free(arg)

    def add(self, position: Any, line: int, name: str, tensor: torch.Tensor) -> Seen:
        """Remember a tensor; of one position the first visits and the last are kept."""
        self.check_size(tensor)
        self.number += 1
        seen = Seen(self.number, line, name, tensor)
        slot = self.slots[position]
        self.visits[position] += 1
        seen.visit = self.visits[position]
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

    def forget(self, seen: Seen) -> None:
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

    def find(self, tensor: torch.Tensor) -> Seen | None:
        """The latest record of this tensor, if it was met before."""
        if tensor.grad_fn is None:
            return self.leaves.get(id(tensor))
        found = self.made.get((id(tensor.grad_fn), tensor.output_nr))
        return found[-1] if found else None

    def check_size(self, tensor: torch.Tensor) -> None:
        if tensor.numel() > MAX_ELEMENTS:
            raise OutsideLanguage(
                f"This makes a tensor of {tensor.numel():,} elements; the limit is "
                f"{MAX_ELEMENTS:,}.",
                "Use smaller shapes.",
            )

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
        # The class's own method: a program may have put something else on its instance.
        for count, (label, parameter) in enumerate(nn.Module.named_parameters(module)):
            if count < MAX_PARAMETERS:
                self.bind_tensor(place, f"{name}.{label}", parameter)

    def bind_tensor(self, place: int, name: str, tensor: torch.Tensor) -> None:
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
                self.visits[(place, name)] += 1
                seen.visit, seen.line = self.visits[(place, name)], where.line
                return
        elif seen is not None and seen.named and where.scope:
            return
        new = self.add(("bind", place, name), where.line, shown, tensor)
        new.named, new.scope = True, where.scope

    def named_leaves(self) -> dict[str, torch.Tensor]:
        return {
            seen.name: seen.tensor
            for seen in self.leaves.values()
            if seen.named and seen.requires_grad
        }

    # -- passes -----------------------------------------------------------------------------

    def backward(
        self,
        what: str,
        roots: list[torch.Tensor],
        run: Callable[[], Any],
        ours: bool = False,
    ) -> Any:
        """Run a backward call and remember the pass: the first three, and the last."""
        self.pass_count += 1
        with torch._C.DisableTorchFunction():
            line = None if ours else self.line
            raw = passes.begin(self.pass_count, line, what, roots, self.named_leaves())
            raw.ours = ours
        if len(self.first_passes) < FIRST:
            self.first_passes.append(raw)
        else:
            self.last_pass = raw
        try:
            return raw.watched(run)
        finally:
            self.spread(raw)
            self.check_time()

    def spread(self, raw: RawPass) -> None:
        """Give the gradients the hooks saw to the tensors they belong to."""
        for step in raw.steps:
            node = raw.functions[step.function]
            for output_nr, grad in enumerate(step.grads_in):
                for seen in self.made.get((id(node), output_nr), ()):
                    if grad is not None:
                        seen.grad = grad

    def zeroed(self, receiver: Any) -> None:
        """zero_grad is about to clear these gradients: remember where, to explain the None."""
        if isinstance(receiver, nn.Module):
            parameters = list(nn.Module.parameters(receiver))
        else:
            parameters = [p for group in receiver.param_groups for p in group["params"]]
        for parameter in parameters:
            if parameter.grad is not None:
                self.cleared[id(parameter)] = self.line


def _roots(what: str, receiver: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The tensors a backward call starts from; none for any other call, or a call torch refuses."""
    if what == "Tensor.backward":
        given: Any = receiver
    elif what == "torch.autograd.grad":
        given = args[0] if args else kwargs.get("outputs")
    elif what == "torch.autograd.backward":
        given = args[0] if args else kwargs.get("tensors")
    else:
        return []
    tensors = list(given) if isinstance(given, list | tuple) else [given]
    if all(isinstance(t, torch.Tensor) and t.requires_grad for t in tensors):
        return tensors
    return []


def _items(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a list, a dict or an object of the reader's own, by how they are written."""
    if isinstance(value, list | tuple):
        yield from ((f"{name}[{i}]", item) for i, item in enumerate(value[:MAX_ITEMS]))
    elif isinstance(value, dict):
        pairs = list(value.items())[:MAX_ITEMS]
        yield from ((f"{name}[{key!r}]", item) for key, item in pairs if isinstance(key, str | int))
    elif type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
        fields = list(vars(value).items())[:MAX_ITEMS]
        yield from ((f"{name}.{field}", item) for field, item in fields)
