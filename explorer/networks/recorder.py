"""Hooks on every module of a model, and what they note while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from explorer.networks.preserve import removing
from explorer.networks.records import Shape, Shapes
from explorer.networks.statistics import Statistics, describe
from explorer.networks.watch import Watch

_next_node = torch._C._autograd._get_sequence_nr


@dataclass
class Visit:
    """One call of one module while it is being recorded. `flops` includes its children's.

    Autograd nodes with a sequence number from `start` up to but not including `end` were made
    during the call. `gradient` is filled in by backward.
    """

    module: nn.Module
    name: str
    call: int
    parent: int | None
    input_shape: Shapes | None
    start: int
    end: int = 0
    flops: int = 0
    inner_flops: int = 0
    output_shape: Shapes | None = None
    memory: int = 0
    activation: Statistics | None = None
    gradient: Statistics | None = None
    hooked: bool = False
    meta: bool = False
    done: bool = False

    @property
    def leaf(self) -> bool:
        return not self.module._modules

    @property
    def described(self) -> bool:
        """Whether the output deserves statistics: a block's is its last layer's."""
        return self.leaf or bool(self.module._parameters)

    @property
    def own_flops(self) -> int:
        return self.flops - self.inner_flops


@dataclass
class Recorder:
    """What the hooks saw: `visits` in the order the calls began; `open` are those not ended."""

    names: dict[nn.Module, str]
    watch: Watch
    visits: list[Visit] = field(default_factory=list)
    open: list[int] = field(default_factory=list)
    calls: Counter[nn.Module] = field(default_factory=Counter)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Hooks are in place inside; afterwards none remains on the model or on any tensor."""
        with removing() as handles:
            self.handles = handles
            for module in self.names:
                handles.append(module.register_forward_pre_hook(self._enter, with_kwargs=True))
                handles.append(module.register_forward_hook(self._leave))
            yield

    def settle(self) -> None:
        """After an error: the operations of the calls that never ended count up to it."""
        for place in reversed(self.open):
            self._count(self.visits[place])

    def _count(self, visit: Visit) -> None:
        visit.flops += self.watch.flops
        if visit.parent is not None:
            self.visits[visit.parent].inner_flops += visit.flops

    def _enter(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        parent = self.open[-1] if self.open else None
        name, call = self.names[module], self.calls[module]
        visit = Visit(module, name, call, parent, _shapes((args, kwargs)), _next_node())
        visit.flops = -self.watch.flops
        self.calls[module] += 1
        self.open.append(len(self.visits))
        self.visits.append(visit)

    def _leave(self, module: nn.Module, args: Any, output: Any) -> None:
        while True:  # a module that caught its child's error leaves the child open
            visit = self.visits[self.open.pop()]
            self._count(visit)
            if visit.module is module:
                break
        visit.done = True
        visit.end = _next_node()
        tensors = tensors_in(output)
        visit.output_shape = _shapes(output)
        visit.memory = sum(t.numel() * t.element_size() for t in tensors)
        floating = next((t for t in tensors if t.is_floating_point()), None)
        if floating is not None and visit.described:
            # Described now: the next in-place layer may overwrite it.
            visit.activation = describe(floating)
            self._watch_gradient(visit, floating)

    def _watch_gradient(self, visit: Visit, output: Tensor) -> None:
        if output.requires_grad:
            visit.hooked, visit.meta = True, output.is_meta

            def note(grad: Tensor) -> None:
                visit.gradient = describe(grad, units=False)

            # A tensor hook, because a full backward hook forbids in-place layers after it.
            self.handles.append(output.register_hook(note))


def tensors_in(value: Any) -> list[Tensor]:
    """All tensors in nested tuples, lists and dicts."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return [tensor for part in value for tensor in tensors_in(part)]
    return []


def _shapes(value: Any) -> Shapes | None:
    shapes: list[Shape] = [tuple(t.shape) for t in tensors_in(value)]
    if not shapes:
        return None
    return shapes[0] if len(shapes) == 1 else tuple(shapes)
