"""Memory over forward and backward: what is in use after every operation, and where the peak is.

A weak reference to every new storage tells when it is freed. What an operation allocates and frees
before it returns (a copy in another layout, the columns of a convolution) is read from torch's own
count of allocations.
"""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._C._autograd import _disable_profiler_legacy, _enable_profiler_legacy
from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig
from torch.autograd.graph import saved_tensors_hooks

from explorer import limits
from explorer.networks.borrow import OperationWatch
from explorer.networks.checkpointing import checkpointed, choose_blocks
from explorer.networks.error_messages import explain
from explorer.networks.passes import Loss, one_pass, tensors_in
from explorer.networks.records import LayerError

PLAIN, CHECKPOINTING, INFERENCE, AUTOCAST = MODES = (
    *("plain", "checkpointing", "inference mode", "autocast"),
)
FORWARD, RECOMPUTATION, BACKWARD = "forward", "recomputation", "backward"


@dataclass(frozen=True)
class MemoryPoint:
    """What is alive during operation number `step`, in bytes, without parameters and inputs.

    `saved` of them are kept for backward, `gradients` are gradients of parameters and inputs.
    `layer` is the innermost module ("" for the model's own code, None for the loss) that runs or,
    in backward, whose operation is differentiated. `during` is the pass: "forward", "recomputation"
    (forward again, by checkpointing) or "backward". The point after the last operation has an empty
    `operation`.
    """

    step: int
    bytes: int
    saved: int
    gradients: int
    layer: str | None
    during: str
    operation: str


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
    loss: Loss | None = None,
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
    blocks = tuple(name for name, _ in choose_blocks(model)) if mode == CHECKPOINTING else ()
    error: LayerError | None = None
    forward_steps: int | None = None
    with one_pass(model, inputs, loss, seed) as run:
        watch = run.loan.operations = MemoryWatch(model, run.inputs)
        run.on_calls(watch.enter, watch.leave)
        for leaf in [*model.parameters(), *tensors_in(run.inputs)]:
            if leaf.requires_grad and leaf.is_leaf:
                run.loan.keep(leaf.register_post_accumulate_grad_hook(watch.note_gradient))
        around = checkpointed(model, watch.recomputing) if mode == CHECKPOINTING else nullcontext()
        try:
            if mode == CHECKPOINTING and not blocks:
                return _result(watch, mode, 0, (), None)
            with watch, around, saved_tensors_hooks(watch.note_saved, lambda saved: saved):
                with _forward_mode(mode):
                    total = run.loss_of(model(*run.inputs))
                forward_steps = watch.step
                if total.requires_grad:
                    watch.during = BACKWARD
                    total.backward()
                    watch.add_last_point()
        except Exception as raised:
            error = explain(raised)
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
    """The point with the most memory in each span of operations; and the last point."""
    size = max(1, -(-len(points) // limits.MOST_MEMORY_POINTS))
    spans = (points[i : i + size] for i in range(0, len(points), size))
    highest = [max(span, key=lambda point: point.bytes) for span in spans]
    return (*highest, *(last for last in points[-1:] if last is not highest[-1]))


# -- while the model runs -------------------------------------------------------------------------

#: The profiler that counts allocations and nothing else. It needs no file, so it also works behind
#: the sandbox's walls, where Kineto's does not start.
_COUNT_ALLOCATIONS = ProfilerConfig(
    ProfilerState.CPU, False, True, False, False, False, _ExperimentalConfig()
)


def _sizes(tensors: Iterable[Tensor]) -> dict[int, int]:
    """The bytes of every storage, once."""
    storages = [t.untyped_storage() for t in tensors if t.layout == torch.strided]
    return {storage._cdata: storage.nbytes() for storage in storages}


class MemoryWatch(OperationWatch):
    """Follows the memory of every tensor that an operation makes while it is active.

    `during` is the pass, `step` counts operations.
    """

    def __init__(self, model: nn.Module, passed: tuple[Any, ...]) -> None:
        super().__init__(model.parameters())
        self.during, self.step, self.scratch = FORWARD, 0, True
        self.parameters = _sizes((*model.parameters(), *model.buffers()))
        self.inputs = _sizes(tensors_in(passed))
        self._outside = {*self.parameters, *self.inputs}
        self._layers_of = {p: name.rpartition(".")[0] for name, p in model.named_parameters()}
        self._stack: list[str | None] = [None]
        #: The layer that autograd nodes from a sequence number on belong to.
        self._starts, self._owners = [0], self._stack[:]
        self._layer: str | None = None
        #: By storage: its size, its part ("", "saved" or "gradients") and the weak reference.
        self._alive: dict[int, tuple[int, str, Any]] = {}
        self._bytes: defaultdict[str, int] = defaultdict(int)
        self.kept: defaultdict[str | None, int] = defaultdict(int)
        self.points: list[MemoryPoint] = []

    # -- layers

    def enter(self, name: str, *ignored: Any) -> None:
        self._stack.append(name)
        self._mark()

    def leave(self, *ignored: Any) -> None:
        self._stack.pop()
        self._mark()

    @contextmanager
    def recomputing(self) -> Iterator[None]:
        """Around a checkpointed block's forward: the second time, in backward, it recomputes. It
        can end early, by an exception that leaves layers open."""
        depth, before = len(self._stack), self.during
        if before == BACKWARD:
            self.during = RECOMPUTATION
        try:
            yield
        finally:
            del self._stack[depth:]
            self.during = before

    def _mark(self) -> None:
        self._starts.append(torch._C._autograd._get_sequence_nr())
        self._owners.append(self._stack[-1])

    def _current_layer(self) -> str | None:
        if self.during != BACKWARD:
            return self._stack[-1]
        node: Any = torch._C._current_autograd_node()
        if node is None:  # between two nodes, where the engine adds up gradients
            return self._layer
        variable = getattr(node, "variable", None)
        if variable is not None:
            return self._layers_of.get(variable, self._layer)
        return self._owners[bisect_right(self._starts, node._sequence_nr()) - 1]

    # -- memory

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = sum(self._bytes.values())
        counting = self._start_counting()
        try:
            result = super().__torch_dispatch__(func, types, args, kwargs)
        finally:
            events = _disable_profiler_legacy() if counting else []
        for tensor in tensors_in(result):
            self._follow(tensor)
        self._layer = self._current_layer()
        self._add_point(before + _highest(events), func.name().partition(".")[0])
        return result

    def _start_counting(self) -> bool:
        if self.scratch:
            try:
                _enable_profiler_legacy(_COUNT_ALLOCATIONS)
            except RuntimeError:  # another profiler is active
                self.scratch = False
        return self.scratch

    def _follow(self, tensor: Tensor) -> None:
        if tensor.layout != torch.strided:
            return
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self._outside:
            return
        if key not in self._alive:
            self._alive[key] = size, "", weakref.ref(storage, lambda gone: self._free(key))
            self._bytes[""] += size
        elif self._alive[key][0] != size:  # resized in place
            old, part, reference = self._alive[key]
            self._alive[key] = size, part, reference
            self._bytes[part] += size - old

    def _free(self, key: int) -> None:
        size, part, _ = self._alive.pop(key)
        self._bytes[part] -= size

    def _move(self, tensor: Tensor, part: str) -> int:
        """Count the tensor's memory as this part; the bytes that were not counted so before."""
        key = tensor.untyped_storage()._cdata if tensor.layout == torch.strided else 0
        size, old, reference = self._alive.get(key, (0, part, None))
        if old == part:
            return 0
        self._alive[key] = size, part, reference
        self._bytes[old] -= size
        self._bytes[part] += size
        return size

    def note_saved(self, tensor: Tensor) -> Tensor:
        size = self._move(tensor, "saved")
        if self.during == FORWARD:
            self.kept[self._stack[-1]] += size
        return tensor

    def note_gradient(self, leaf: Tensor) -> None:
        if leaf.grad is not None:
            self._move(leaf.grad, "gradients")

    # -- points

    def _add_point(self, highest: int, operation: str) -> None:
        total = sum(self._bytes.values())
        saved, gradients = self._bytes["saved"], self._bytes["gradients"]
        name = operation.removeprefix("aten::")
        most = max(highest, total)
        self.points.append(
            MemoryPoint(self.step, most, saved, gradients, self._layer, self.during, name)
        )
        self.step += 1

    def add_last_point(self) -> None:
        """How it ends: gradients are noted after the operation that makes them."""
        self._add_point(0, "")
        self.step -= 1


def _highest(events: list[list[Any]]) -> int:
    """The most memory that was allocated at one time, and not yet freed."""
    alive = highest = 0
    for thread in events:
        for event in thread:
            if event.kind() == "memory_alloc":
                alive += event.cpu_memory_usage()
                highest = max(highest, alive)
    return highest
