"""Memory over forward and backward: what is in use after every operation, and where the peak is.

`memory_watch` follows every tensor; this module runs a model meanwhile, in one of several modes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from explorer.networks.borrow import borrow_seeded
from explorer.networks.checkpointing import checkpointed, choose_blocks
from explorer.networks.error_messages import explain
from explorer.networks.inspection import copy_tensors, scalar_loss
from explorer.networks.layer_recorder import tensors_in
from explorer.networks.memory_watch import BACKWARD, MemoryPoint, MemoryWatch
from explorer.networks.records import LayerError

PLAIN, CHECKPOINTING, INFERENCE, AUTOCAST = MODES = (
    *("plain", "checkpointing", "inference mode", "autocast"),
)
#: How many points a run keeps: of every span of operations the one with the most memory.
POINTS = 300


@dataclass(frozen=True)
class KeptMemory:
    """The bytes that forward keeps for backward in a layer; what two layers keep belongs to the
    first. Parameters and inputs are not counted: they are there anyway."""

    layer: str | None
    bytes: int


@dataclass(frozen=True)
class MemoryRun:
    """One run in one of `MODES`. `points` are in order and contain `peak`, None without any.

    `parameters` (with buffers) and `inputs` are bytes that are there all the time. `forward_steps`
    is how many operations forward and the loss take, `steps` all; `macs` are the multiply-adds of
    all passes, None in inference mode. `scratch` says whether memory inside operations was counted.
    `blocks` are what checkpointing recomputes: without any there is no run and no point. After an
    `error` the points are those up to it.
    """

    mode: str
    points: tuple[MemoryPoint, ...]
    peak: MemoryPoint | None
    kept: tuple[KeptMemory, ...]
    parameters: int
    inputs: int
    forward_steps: int
    steps: int
    macs: int | None
    scratch: bool
    blocks: tuple[str, ...] = ()
    error: LayerError | None = None

    @property
    def kept_bytes(self) -> int:
        return sum(layer.bytes for layer in self.kept)


def trace_memory(
    model: nn.Module,
    *inputs: Any,
    mode: str = PLAIN,
    loss: Callable[[Any], Tensor] | None = None,
    seed: int = 0,
) -> MemoryRun:
    """Run forward and backward once on the CPU and follow the memory. The model is left as it was.

    `mode` is one of `MODES`: "checkpointing" recomputes each block in backward instead of keeping
    its activations (https://docs.pytorch.org/docs/stable/checkpoint.html), "inference mode" runs
    forward alone, "autocast" runs forward in bfloat16 where torch does. What the model raises is
    in `error`. Raises ValueError for another mode.
    """
    if mode not in MODES:
        raise ValueError(f"there is no mode {mode!r}; it can be {', '.join(MODES)}")
    passed = tuple(copy_tensors(value) for value in inputs)
    blocks = tuple(name for name, _ in choose_blocks(model)) if mode == CHECKPOINTING else ()
    error: LayerError | None = None
    forward_steps: int | None = None
    with borrow_seeded(model, seed) as loan, torch.enable_grad():
        watch = MemoryWatch(model, passed)
        for module, name in watch.names.items():
            loan.keep(module.register_forward_pre_hook(watch.enter(name)))
            loan.keep(module.register_forward_hook(watch.leave))
        for leaf in [*model.parameters(), *tensors_in(passed)]:
            if leaf.requires_grad and leaf.is_leaf:
                loan.keep(leaf.register_post_accumulate_grad_hook(watch.note_gradient))
        around = checkpointed(model, watch.recomputing) if mode == CHECKPOINTING else nullcontext()
        try:
            if mode == CHECKPOINTING and not blocks:
                return _result(watch, mode, 0, (), None)
            with watch, around, saved_tensors_hooks(watch.note_saved, lambda saved: saved):
                with _forward_mode(mode):
                    total = scalar_loss(model(*passed), loss)
                forward_steps = watch.step
                if total.requires_grad:
                    watch.during = BACKWARD
                    total.backward()
                    watch.add_last_point()
        except Exception as raised:
            error = explain(raised)
        finally:
            watch.restore()
    return _result(watch, mode, forward_steps, blocks, error)


def _forward_mode(mode: str) -> AbstractContextManager[Any]:
    if mode == INFERENCE:
        return torch.inference_mode()
    return torch.autocast("cpu", torch.bfloat16) if mode == AUTOCAST else nullcontext()


def _result(
    watch: MemoryWatch,
    mode: str,
    forward_steps: int | None,
    blocks: tuple[str, ...],
    error: LayerError | None,
) -> MemoryRun:
    kept = sorted(watch.kept.items(), key=lambda item: -item[1])
    return MemoryRun(
        mode,
        _thin(watch.points),
        max(watch.points, key=lambda point: point.bytes, default=None),
        tuple(KeptMemory(*item) for item in kept if item[1]),
        sum(watch.parameters.values()),
        sum(watch.inputs.values()),
        watch.step if forward_steps is None else forward_steps,
        watch.step,
        # In inference mode, operations such as conv2d arrive whole, and are not in torch's table.
        None if mode == INFERENCE else watch.flops // 2,
        watch.scratch,
        blocks,
        error,
    )


def _thin(points: list[MemoryPoint]) -> tuple[MemoryPoint, ...]:
    """Of every span of operations the point with the most memory; and the last point."""
    size = max(1, -(-len(points) // POINTS))
    spans = (points[i : i + size] for i in range(0, len(points), size))
    highest = [max(span, key=lambda point: point.bytes) for span in spans]
    return (*highest, *(last for last in points[-1:] if last is not highest[-1]))
