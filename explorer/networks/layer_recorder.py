"""What every module of a model does while it runs, and the autograd graph it leaves behind."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from explorer.networks.passes import Pass, tensors_in
from explorer.networks.records import ModuleCall, Operation, Shape, Shapes
from explorer.networks.statistics import Statistics, describe, saturation

#: The number that the next autograd node of this thread gets.
_next_node = torch._C._autograd._get_sequence_nr


@dataclass
class RecordedCall:
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
    saturated: float | None = None
    hooked: bool = False
    meta: bool = False

    @property
    def leaf(self) -> bool:
        return not self.module._modules

    @property
    def described(self) -> bool:
        """Whether the output deserves statistics: that of a block which computes nothing itself is
        its last layer's."""
        return self.leaf or bool(self.module._parameters) or bool(self.own_flops)

    @property
    def own_flops(self) -> int:
        return self.flops - self.inner_flops


class LayerRecorder:
    """Records the calls of all modules in a pass.

    `calls` are in the order they began; `open` are the positions of those that have not ended.
    After `end`, nothing more is recorded: a checkpoint calls its layers again in backward.
    """

    def __init__(self, run: Pass) -> None:
        self.calls: list[RecordedCall] = []
        self.open: list[int] = []
        self._loan, self._has_ended = run.loan, False
        self._counts: Counter[nn.Module] = Counter()
        run.on_calls(self._enter, self._leave)

    def end(self) -> None:
        """The loss has been computed."""
        self._has_ended = True

    def close(self) -> None:
        """After an error: the operations of the calls that never ended count up to it."""
        for position in reversed(self.open):
            self._count(self.calls[position])

    def _count(self, call: RecordedCall) -> None:
        call.flops += self._loan.operations.flops
        if call.parent is not None:
            self.calls[call.parent].inner_flops += call.flops

    def _enter(self, name: str, module: nn.Module, passed: Any) -> None:
        if self._has_ended:
            return
        parent = self.open[-1] if self.open else None
        number = self._counts[module]
        call = RecordedCall(module, name, number, parent, _shapes(passed), _next_node())
        call.flops = -self._loan.operations.flops
        self._counts[module] += 1
        self.open.append(len(self.calls))
        self.calls.append(call)

    def _leave(self, name: str, module: nn.Module, args: Any, output: Any) -> None:
        if self._has_ended:
            return
        while True:  # a module that caught its child's error leaves the child open
            call = self.calls[self.open.pop()]
            self._count(call)
            if call.module is module:
                break
        call.end = _next_node()
        tensors = tensors_in(output)
        call.output_shape = _shapes(output)
        call.memory = sum(t.numel() * t.element_size() for t in tensors)
        floating = next((t for t in tensors if t.is_floating_point()), None)
        if floating is not None and call.described:
            # Described now: the next in-place layer may overwrite it.
            call.activation = describe(floating)
            call.saturated = saturation(floating, type(module).__name__)
            self._record_gradient(call, floating)

    def _record_gradient(self, call: RecordedCall, output: Tensor) -> None:
        if output.requires_grad:
            call.hooked, call.meta = True, output.is_meta

            def record(grad: Tensor) -> None:
                call.gradient = describe(grad, units=False)

            # A tensor hook, because a full backward hook forbids in-place layers after it.
            self._loan.keep(output.register_hook(record))


def _shapes(value: Any) -> Shapes | None:
    shapes: list[Shape] = [tuple(t.shape) for t in tensors_in(value)]
    if not shapes:
        return None
    return shapes[0] if len(shapes) == 1 else tuple(shapes)


def to_module_calls(calls: list[RecordedCall]) -> tuple[ModuleCall, ...]:
    """The calls as plain data; MACs are half the counted operations."""
    return tuple(
        ModuleCall(
            c.name, c.call, type(c.module).__name__, c.parent, c.flops // 2 or None, c.output_shape
        )
        for c in calls
    )


def map_operations(
    root: Tensor, calls: list[RecordedCall], model: nn.Module
) -> tuple[tuple[Operation, ...], tuple[tuple[int, int], ...]]:
    """All nodes of the graph behind `root`, and its edges in the direction of computation.

    A node belongs to the innermost call during which it was made. A parameter's accumulating node
    belongs to the innermost call that contains everything it is used for.
    """
    if root.grad_fn is None:
        return (), ()
    nodes, edges = _walk(root.grad_fn)
    names = {id(p): name for name, p in model.named_parameters()}
    starts = [c.start for c in calls]
    owners: dict[int, int | None] = {}
    for position, node in enumerate(nodes):
        if not hasattr(node, "variable"):
            owners[position] = _innermost(node._sequence_nr(), starts, calls)
    for source, target in edges:
        if hasattr(nodes[source], "variable"):  # made by no call: parameters and inputs
            owner = owners[target]
            owners[source] = _common(owners.get(source, owner), owner, calls)
    operations = tuple(
        Operation(node.name(), owners.get(i), _parameter(node, names))
        for i, node in enumerate(nodes)
    )
    return operations, tuple(edges)


def _walk(root: Any) -> tuple[list[Any], list[tuple[int, int]]]:
    positions: dict[Any, int] = {root: 0}
    nodes, edges = [root], []
    for node in nodes:  # grows while it is walked
        for source, _ in node.next_functions:
            if source is None:
                continue
            if source not in positions:
                positions[source] = len(nodes)
                nodes.append(source)
            edges.append((positions[source], positions[node]))
    return nodes, edges


def _innermost(number: int, starts: list[int], calls: list[RecordedCall]) -> int | None:
    """The deepest call whose span holds the sequence number; None for the loss after the model."""
    position: int | None = bisect_right(starts, number) - 1
    while position is not None and position >= 0 and number >= calls[position].end:
        position = calls[position].parent
    return None if position == -1 else position


def _common(a: int | None, b: int | None, calls: list[RecordedCall]) -> int | None:
    """The innermost call that contains both. A parent comes before its children."""
    while a != b:
        if a is None or b is None:
            return None
        if a > b:
            a = calls[a].parent
        else:
            b = calls[b].parent
    return a


def _parameter(node: Any, names: dict[int, str]) -> str | None:
    variable = getattr(node, "variable", None)
    return None if variable is None else names.get(id(variable), "input")
