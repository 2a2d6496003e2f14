"""Experiments with hooks: what they receive, what they change, and what they keep in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from explorer.networks.borrow import borrow_seeded
from explorer.networks.error_messages import explain
from explorer.networks.hooks import Hook, HookEvent, HookRecording, find_targets, install
from explorer.networks.inspection import copy_tensors, inspect, scalar_loss
from explorer.networks.layer_recorder import tensors_in
from explorer.networks.records import LayerError
from explorer.networks.statistics import dense
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.records import Array


@dataclass(frozen=True, eq=False)
class GradientChange:
    """One gradient without and with the hooks; `name` is a parameter's, or "input 0".

    `ratio` is the second norm over the first, NaN where that says nothing. `same` means equal
    bit for bit.
    """

    name: str
    before: Array | None
    after: Array | None
    norm_before: float | None
    norm_after: float | None
    same: bool

    @property
    def ratio(self) -> float:
        if not self.norm_before or self.norm_after is None:
            return float("nan")
        return self.norm_after / self.norm_before


@dataclass(frozen=True, eq=False)
class HookExperiment:
    """What the hooks received, in order, and every gradient without and with them.

    After an `error` the events are those up to it and `changes` is empty.
    """

    events: tuple[HookEvent, ...]
    changes: tuple[GradientChange, ...]
    loss_before: float | None
    loss_after: float | None
    error: LayerError | None = None


@dataclass(frozen=True)
class _HookedRun:
    events: tuple[HookEvent, ...]
    gradients: dict[str, Tensor]
    loss: float | None
    error: LayerError | None


def try_hooks(
    model: nn.Module,
    *inputs: Any,
    hooks: Sequence[Hook],
    loss: Callable[[Any], Tensor] | None = None,
    seed: int = 0,
) -> HookExperiment:
    """Run forward and backward twice from the same state, without and with `hooks`.

    `loss` is as for `inspect`. The model is left as it was, without hooks. Raises ValueError for
    a hook of an unknown kind or action, or on a layer the model does not have; errors of the
    model or of torch are in `error`.
    """
    for hook in hooks:
        find_targets(hook, model)
    before = _run(model, inputs, (), loss, seed)
    if before.error is not None:
        return HookExperiment((), (), before.loss, None, before.error)
    after = _run(model, inputs, hooks, loss, seed)
    names = [] if after.error else list({**before.gradients, **after.gradients})
    changes = (_compare(n, before.gradients.get(n), after.gradients.get(n)) for n in names)
    return HookExperiment(after.events, tuple(changes), before.loss, after.loss, after.error)


def _run(
    model: nn.Module,
    inputs: tuple[Any, ...],
    hooks: Sequence[Hook],
    loss: Callable[[Any], Tensor] | None,
    seed: int,
) -> _HookedRun:
    recording = HookRecording()
    passed = tuple(copy_tensors(value) for value in inputs)
    value: float | None = None
    error: LayerError | None = None
    with borrow_seeded(model, seed) as loan, torch.enable_grad(), loan.operations:
        try:
            for hook in hooks:
                install(hook, model, recording, loan)
            total = scalar_loss(model(*passed), loss)
            value = float(total.detach())
            total.backward()
        except Exception as raised:
            error = explain(raised)
        gradients = {n: dense(p.grad) for n, p in model.named_parameters() if p.grad is not None}
        for i, tensor in enumerate(t for t in passed if isinstance(t, Tensor)):
            if tensor.grad is not None:
                gradients[f"input {i}"] = tensor.grad
    return _HookedRun(tuple(recording.events), gradients, value, error)


def _compare(name: str, before: Tensor | None, after: Tensor | None) -> GradientChange:
    def norm(grad: Tensor | None) -> float | None:
        return None if grad is None else float(torch.linalg.vector_norm(grad))

    same = before is not None and after is not None and torch.equal(before, after)
    return GradientChange(name, _array(before), _array(after), norm(before), norm(after), same)


def _array(tensor: Tensor | None) -> Array | None:
    return None if tensor is None else CapturedValues(tensor).array()


@dataclass(frozen=True, eq=False)
class BackwardHookComparison:
    """The full and the deprecated backward hook on the same layer.

    `full` and `deprecated` only look; `full_scaled` and `deprecated_scaled` multiply grad_input
    by `amount`. `nodes` are the autograd nodes the layer's forward made, the last one first.
    `reason` explains in full sentences why the two hooks differ.
    """

    layer: str
    amount: float
    full: HookExperiment
    deprecated: HookExperiment
    full_scaled: HookExperiment
    deprecated_scaled: HookExperiment
    nodes: tuple[str, ...]
    reason: str


def compare_backward_hooks(
    model: nn.Module,
    *inputs: Any,
    layer: str = "",
    amount: float = 100.0,
    loss: Callable[[Any], Tensor] | None = None,
) -> BackwardHookComparison:
    """Show that the deprecated hook observes an autograd node, and the full one the layer."""

    def run(kind: str, action: str) -> HookExperiment:
        return try_hooks(model, *inputs, hooks=[Hook(kind, layer, action, amount)], loss=loss)

    nodes = _nodes_of(model, inputs, layer)
    last = nodes[0] if nodes else "none"
    reason = (
        f"The deprecated hook is registered on {last}, the last autograd node that the layer's "
        "forward made. Its grad_input is what this node passes on. "
    )
    if nodes[1:]:
        reason += (
            f"The layer's other nodes ({', '.join(nodes[1:])}) lie before it, so this is not the "
            "gradient of the layer's input. "
        )
    reason += (
        "The full hook receives the gradients of the layer's own input and output. Changing its "
        "grad_input affects what comes before the layer, never the layer's own parameters. "
        "Changing the deprecated hook's grad_input affects every node before the last one, "
        "including the layer's parameters."
    )
    return BackwardHookComparison(
        layer,
        amount,
        run("full_backward", "look"),
        run("backward", "look"),
        run("full_backward", "scale"),
        run("backward", "scale"),
        nodes,
        reason,
    )


def _nodes_of(model: nn.Module, inputs: tuple[Any, ...], layer: str) -> tuple[str, ...]:
    """The names of the autograd nodes made by the layer's first call, last first."""
    structure = inspect(model, *inputs).structure
    if structure is None:
        return ()
    inside: set[int] = set()
    for position, call in enumerate(structure.calls):
        if (call.name == layer and call.call == 0) or call.parent in inside:
            inside.add(position)
    return tuple(
        op.name
        for op in structure.operations
        if op.call in inside and not op.name.endswith("AccumulateGrad")
    )


#: Ways to read the gradients of layer outputs.
READERS = ("hook that prints", "hook that stores", "retain_grad")


@dataclass(frozen=True)
class HookMemory:
    """Gradients of layer outputs still in memory after backward, for one of `READERS`.

    `gradients` is how many there were to read, `blocks` how many memory blocks are left and
    `bytes` their size.
    """

    reader: str
    gradients: int
    blocks: int
    bytes: int


def measure_hook_memory(
    model: nn.Module, *inputs: Any, loss: Callable[[Any], Tensor] | None = None, seed: int = 0
) -> tuple[HookMemory, ...]:
    """Run forward and backward once with each of `READERS`, and measure what stays in memory.

    The outputs of all layers without children are read. Measured by weak references to the memory
    of each gradient, after everything but the hook's own list (or the tensors' `.grad`) is gone;
    the gradients of parameters and inputs are not counted. Raises whatever the model raises.
    """
    return tuple(_measure(reader, model, inputs, loss, seed) for reader in READERS)


def _measure(
    reader: str,
    model: nn.Module,
    inputs: tuple[Any, ...],
    loss: Callable[[Any], Tensor] | None,
    seed: int,
) -> HookMemory:
    blocks: dict[int, tuple[StorageWeakRef, int]] = {}
    stored: list[Tensor] = []
    retained: list[Tensor] = []
    gradients = 0

    def follow(grad: Tensor) -> None:
        storage = grad.untyped_storage()
        blocks[storage._cdata] = StorageWeakRef(storage), storage.nbytes()

    def read(grad: Tensor) -> None:
        nonlocal gradients
        gradients += 1
        follow(grad)
        if reader == "hook that stores":
            stored.append(grad)

    def on_output(module: nn.Module, args: Any, output: Any) -> None:
        for tensor in tensors_in(output):
            if tensor.requires_grad:
                loan.keep(tensor.register_hook(read))
                if reader == "retain_grad" and not tensor.is_leaf:
                    tensor.retain_grad()
                    retained.append(tensor)

    passed = tuple(copy_tensors(value) for value in inputs)
    with borrow_seeded(model, seed) as loan, torch.enable_grad(), loan.operations:
        for module in model.modules():
            if not module._modules:
                loan.keep(module.register_forward_hook(on_output))
        scalar_loss(model(*passed), loss).backward()
        for tensor in retained:
            if tensor.grad is not None:
                follow(tensor.grad)
        leaves = [*model.parameters(), *tensors_in(passed)]
        for leaf in leaves:
            if leaf.grad is not None:
                blocks.pop(leaf.grad.untyped_storage()._cdata, None)
    alive = [size for block, size in blocks.values() if not block.expired()]
    return HookMemory(reader, gradients, len(alive), sum(alive))
