"""Every kind of hook: what it receives, what it can replace, what it changes, and what it keeps in
memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from explorer.networks.error_messages import explain
from explorer.networks.passes import Loss, Pass, one_pass, tensors_in
from explorer.networks.records import LayerError
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.records import Array


@dataclass(frozen=True)
class HookKind:
    """`method` is PyTorch's (https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html).

    `receives` labels the hook's arguments (after the module, if that is one), and `replaces` is
    the one of them that a returned value replaces. `note` continues the sentence "method …".
    """

    title: str
    method: str
    receives: tuple[str, ...]
    replaces: str
    note: str


HOOK_KINDS: dict[str, HookKind] = {
    "forward_pre": HookKind(
        "forward-pre",
        "register_forward_pre_hook",
        ("input",),
        "input",
        "runs before the layer's forward and receives its input",
    ),
    "forward": HookKind(
        "forward",
        "register_forward_hook",
        ("input", "output"),
        "output",
        "runs after the layer's forward and receives its input and output",
    ),
    "full_backward": HookKind(
        "full backward",
        "register_full_backward_hook",
        ("grad_input", "grad_output"),
        "grad_input",
        "receives the gradients of the layer's input and output",
    ),
    "backward": HookKind(
        "backward (deprecated)",
        "register_backward_hook",
        ("grad_input", "grad_output"),
        "grad_input",
        "receives the gradients of the last autograd node that the layer's forward made",
    ),
    "tensor": HookKind(
        "tensor",
        "register_hook",
        ("grad",),
        "grad",
        "receives the gradient of the layer's output; on a parameter, before it is added to .grad",
    ),
    "post_accumulate": HookKind(
        "post-accumulate",
        "register_post_accumulate_grad_hook",
        (".grad",),
        ".grad",
        "runs after a parameter's .grad has been updated",
    ),
}

#: What a hook can do to a floating-point tensor; `amount` is the hook's.
HOOK_ACTIONS: dict[str, Callable[[Tensor, float, torch.Generator], Tensor]] = {
    "look": lambda t, amount, random: t,
    "scale": lambda t, amount, random: t * amount,
    "clip": lambda t, amount, random: t.clamp(-abs(amount), abs(amount)),
    "zero": lambda t, amount, random: torch.zeros_like(t),
    "noise": lambda t, amount, random: t + amount * torch.randn(t.shape, generator=random).to(t),
}


@dataclass(frozen=True)
class Hook:
    """A hook to install. `kind` is a key of `HOOK_KINDS`, `action` one of `HOOK_ACTIONS`.

    `place` is a layer's name ("" for the model itself). A "tensor" hook is registered on the
    layer's output, or on a parameter if `place` names one; a "post_accumulate" hook on that
    parameter, or on each that the layer holds.
    """

    kind: str
    place: str
    action: str = "look"
    amount: float = 1.0


@dataclass(frozen=True, eq=False)
class HookValue:
    """One tensor passed to a hook ("grad_input 0"); all None where torch passed None."""

    label: str
    shape: tuple[int, ...] | None
    value: Array | None


@dataclass(frozen=True, eq=False)
class HookEvent:
    """One call of a hook: number `number` of the run, number `call` of this hook here.

    `place` is the hook's, or for a post-accumulate hook the parameter. `changed` says whether
    the hook replaced what it received.
    """

    number: int
    kind: str
    place: str
    call: int
    values: tuple[HookValue, ...]
    changed: bool


@dataclass
class HookRecording:
    """The events of one run, in order, and the random numbers of its "noise" actions."""

    events: list[HookEvent] = field(default_factory=list)
    random: torch.Generator = field(default_factory=lambda: torch.Generator().manual_seed(0))

    def call(self, hook: Hook, place: str, arguments: tuple[Any, ...]) -> Any:
        """Record what the hook receives and return what replaces it; None if the hook only looks,
        because a hook that returns something replaces what it was given.

        Tensors are copied at once: an in-place operation may come next.
        """
        kind = HOOK_KINDS[hook.kind]
        labelled = dict(zip(kind.receives, arguments, strict=True))
        values = tuple(_value(*part) for pair in labelled.items() for part in _parts(*pair))
        call = sum((e.kind, e.place) == (hook.kind, place) for e in self.events)
        changed = hook.action != "look"
        self.events.append(HookEvent(len(self.events), hook.kind, place, call, values, changed))
        return self._replacement(hook, labelled[kind.replaces]) if changed else None

    def _replacement(self, hook: Hook, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._replacement(hook, part) for part in value)
        if isinstance(value, Tensor) and value.is_floating_point():
            return HOOK_ACTIONS[hook.action](value, hook.amount, self.random)
        return value


def _parts(label: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple):
        yield from ((f"{label} {i}", part) for i, part in enumerate(value))
    elif isinstance(value, Tensor):
        yield label, value
    else:
        yield from ((f"{label} {i}", part) for i, part in enumerate(tensors_in(value)))


def _value(label: str, value: Any) -> HookValue:
    if not isinstance(value, Tensor):
        return HookValue(label, None, None)
    return HookValue(label, tuple(value.shape), CapturedValues(value.detach()).array())


def install(hook: Hook, run: Pass, recording: HookRecording) -> None:
    """Register the hook for this pass.

    Raises ValueError as `find_targets` does, RuntimeError where torch refuses.
    """
    layers, parameters = find_targets(hook, run.model)
    keep = run.loan.keep

    def on_layer(module: nn.Module, *arguments: Any) -> Any:
        return recording.call(hook, hook.place, arguments)

    def on_gradient(grad: Tensor) -> Any:
        return recording.call(hook, hook.place, (grad,))

    def on_output(module: nn.Module, args: Any, output: Any) -> None:
        keep(*(t.register_hook(on_gradient) for t in tensors_in(output) if t.requires_grad))

    def on_parameter(parameter: Tensor, name: str) -> None:
        replacement = recording.call(hook, name, (parameter.grad,))
        if replacement is not None:
            parameter.grad = replacement

    if hook.kind == "post_accumulate":
        for name, parameter in parameters.items():
            keep(parameter.register_post_accumulate_grad_hook(partial(on_parameter, name=name)))
    elif hook.kind != "tensor":
        keep(getattr(layers[hook.place], HOOK_KINDS[hook.kind].method)(on_layer))
    elif hook.place in parameters:
        keep(parameters[hook.place].register_hook(on_gradient))
    else:
        keep(layers[hook.place].register_forward_hook(on_output))


def find_targets(
    hook: Hook, model: nn.Module
) -> tuple[dict[str, nn.Module], dict[str, nn.Parameter]]:
    """All layers, and the trainable parameters that are the hook's place or belong to it.

    Raises ValueError, with a sentence, for an unknown kind, action or place.
    """
    if hook.kind not in HOOK_KINDS:
        raise ValueError(f"unknown kind of hook {hook.kind!r}; it can be {', '.join(HOOK_KINDS)}")
    if hook.action not in HOOK_ACTIONS:
        raise ValueError(f"unknown action {hook.action!r}; it can be {', '.join(HOOK_ACTIONS)}")
    layers = dict(model.named_modules(remove_duplicate=False))
    parameters = {
        name: parameter
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and hook.place in (name, name.rpartition(".")[0])
    }
    on_parameters = hook.kind in ("tensor", "post_accumulate")
    if hook.place not in layers and not (on_parameters and hook.place in parameters):
        targets = "layer or trainable parameter" if on_parameters else "layer"
        raise ValueError(f"the model has no {targets} named {hook.place!r}")
    return layers, parameters


# -- experiments ----------------------------------------------------------------------------------


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


def try_hooks(
    model: nn.Module,
    *inputs: Any,
    hooks: Sequence[Hook],
    loss: Loss | None = None,
    seed: int = 0,
) -> HookExperiment:
    """Run forward and backward twice from the same state, without and with `hooks`.

    `loss` is as for `inspect`. The model is left as it was, without hooks. Raises ValueError for
    a hook of an unknown kind or action, or on a layer the model does not have; errors of the
    model or of torch are in `error`.
    """
    for hook in hooks:
        find_targets(hook, model)
    before = _HookedRun(model, inputs, (), loss, seed)
    if before.error is not None:
        return HookExperiment((), (), before.loss, None, before.error)
    after = _HookedRun(model, inputs, hooks, loss, seed)
    names = [] if after.error else list({**before.gradients, **after.gradients})
    changes = (_compare(n, before.gradients.get(n), after.gradients.get(n)) for n in names)
    events = tuple(after.recording.events)
    return HookExperiment(events, tuple(changes), before.loss, after.loss, after.error)


class _HookedRun:
    """A pass with hooks: what they received, and every gradient."""

    def __init__(
        self,
        model: nn.Module,
        inputs: tuple[Any, ...],
        hooks: Sequence[Hook],
        loss: Loss | None,
        seed: int,
    ) -> None:
        self.recording = HookRecording()
        self.loss: float | None = None
        self.error: LayerError | None = None
        with one_pass(model, inputs, loss, seed) as run:
            try:
                for hook in hooks:
                    install(hook, run, self.recording)
                total = run.forward()
                self.loss = float(total.detach())
                with run.loan.operations:  # a hook may write to the parameters
                    total.backward()
            except Exception as raised:
                self.error = explain(raised)
            self.gradients = run.gradients()
            for i, tensor in enumerate(t for t in run.inputs if isinstance(t, Tensor)):
                if tensor.grad is not None:
                    self.gradients[f"input {i}"] = tensor.grad


def _compare(name: str, before: Tensor | None, after: Tensor | None) -> GradientChange:
    def norm(grad: Tensor | None) -> float | None:
        return None if grad is None else float(torch.linalg.vector_norm(grad))

    same = before is not None and after is not None and torch.equal(before, after)
    return GradientChange(name, _array(before), _array(after), norm(before), norm(after), same)


def _array(tensor: Tensor | None) -> Array | None:
    return None if tensor is None else CapturedValues(tensor).array()


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
    model: nn.Module, *inputs: Any, loss: Loss | None = None, seed: int = 0
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
    loss: Loss | None,
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

    def on_output(name: str, module: nn.Module, args: Any, output: Any) -> None:
        for tensor in [] if module._modules else tensors_in(output):
            if tensor.requires_grad:
                run.loan.keep(tensor.register_hook(read))
                if reader == "retain_grad" and not tensor.is_leaf:
                    tensor.retain_grad()
                    retained.append(tensor)

    with one_pass(model, inputs, loss, seed) as run:
        run.on_calls(after=on_output)
        run.forward().backward()
        for tensor in retained:
            if tensor.grad is not None:
                follow(tensor.grad)
        for leaf in [*model.parameters(), *tensors_in(run.inputs)]:
            if leaf.grad is not None:
                blocks.pop(leaf.grad.untyped_storage()._cdata, None)
    alive = [size for block, size in blocks.values() if not block.expired()]
    return HookMemory(reader, gradients, len(alive), sum(alive))
