"""What it costs to look: the memory that three ways of seeing gradients keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from explorer.networks.inspection import copied, scalar_loss
from explorer.networks.preserve import preserved, removing
from explorer.networks.recorder import tensors_in

WAYS = ("hook that prints", "hook that stores", "retain_grad")


@dataclass(frozen=True)
class Held:
    """Gradients of layer outputs still in memory after backward.

    `seen` is how many gradients there were to see, `tensors` how many memory blocks are left and
    `bytes` their size.
    """

    way: str
    seen: int
    tensors: int
    bytes: int


def gradients_held(
    model: nn.Module, *inputs: Any, loss: Callable[[Any], Tensor] | None = None, seed: int = 0
) -> tuple[Held, ...]:
    """Run forward and backward once in each of `WAYS`, and measure what stays.

    Every layer without children is watched. Measured by weak references to the memory of each
    gradient, after everything but the hook's own list (or the tensors' `.grad`) is gone; the
    gradients of parameters and inputs are not counted. Raises whatever the model raises.
    """
    return tuple(_held(way, model, inputs, loss, seed) for way in WAYS)


def _held(
    way: str,
    model: nn.Module,
    inputs: tuple[Any, ...],
    loss: Callable[[Any], Tensor] | None,
    seed: int,
) -> Held:
    blocks: dict[int, tuple[StorageWeakRef, int]] = {}
    stored: list[Tensor] = []
    retained: list[Tensor] = []
    seen = 0

    def follow(grad: Tensor) -> None:
        storage = grad.untyped_storage()
        blocks[storage._cdata] = StorageWeakRef(storage), storage.nbytes()

    def see(grad: Tensor) -> None:
        nonlocal seen
        seen += 1
        follow(grad)
        if way == "hook that stores":
            stored.append(grad)

    def watch(module: nn.Module, args: Any, output: Any) -> None:
        for tensor in tensors_in(output):
            if tensor.requires_grad:
                handles.append(tensor.register_hook(see))
                if way == "retain_grad" and not tensor.is_leaf:
                    tensor.retain_grad()
                    retained.append(tensor)

    passed = tuple(copied(value) for value in inputs)
    with preserved(model, seed) as writes, removing() as handles, torch.enable_grad(), writes:
        for module in model.modules():
            if not module._modules:
                handles.append(module.register_forward_hook(watch))
        scalar_loss(model(*passed), loss).backward()
        for tensor in retained:
            if tensor.grad is not None:
                follow(tensor.grad)
        leaves = [*model.parameters(), *tensors_in(passed)]
        for leaf in leaves:
            if leaf.grad is not None:
                blocks.pop(leaf.grad.untyped_storage()._cdata, None)
    alive = [size for block, size in blocks.values() if not block.expired()]
    return Held(way, seen, len(alive), sum(alive))
