"""Every kind of hook, what it may do to what it sees, and a record of what it saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from explorer.networks.recorder import tensors_in
from explorer.trace.capture import Kept
from explorer.trace.records import Array


@dataclass(frozen=True)
class Kind:
    """`method` is PyTorch's; `sees` labels what the hook gets (after the module, if it gets one),
    and `changes` is the one of these that a returned value replaces."""

    title: str
    method: str
    sees: tuple[str, ...]
    changes: str
    note: str


KINDS: dict[str, Kind] = {
    "forward_pre": Kind(
        "forward-pre",
        "register_forward_pre_hook",
        ("input",),
        "input",
        "runs before the layer's forward and sees its input",
    ),
    "forward": Kind(
        "forward",
        "register_forward_hook",
        ("input", "output"),
        "output",
        "runs after the layer's forward and sees its input and output",
    ),
    "full_backward": Kind(
        "full backward",
        "register_full_backward_hook",
        ("grad_input", "grad_output"),
        "grad_input",
        "sees the gradients of the layer's input and output",
    ),
    "backward": Kind(
        "backward (deprecated)",
        "register_backward_hook",
        ("grad_input", "grad_output"),
        "grad_input",
        "sees the last autograd node of the layer's forward, whatever that is",
    ),
    "tensor": Kind(
        "tensor",
        "register_hook",
        ("grad",),
        "grad",
        "sees the gradient of the layer's output; on a parameter, before it is added to .grad",
    ),
    "post_accumulate": Kind(
        "post-accumulate",
        "register_post_accumulate_grad_hook",
        (".grad",),
        ".grad",
        "runs after a parameter's .grad has been filled",
    ),
}

#: What a hook can do to a floating-point tensor; `amount` is the hook's.
ACTIONS: dict[str, Callable[[Tensor, float, torch.Generator], Tensor]] = {
    "look": lambda t, amount, random: t,
    "scale": lambda t, amount, random: t * amount,
    "clip": lambda t, amount, random: t.clamp(-abs(amount), abs(amount)),
    "zero": lambda t, amount, random: torch.zeros_like(t),
    "noise": lambda t, amount, random: t + amount * torch.randn(t.shape, generator=random).to(t),
}


@dataclass(frozen=True)
class Hook:
    """A hook to install. `kind` is a key of `KINDS`, `action` one of `ACTIONS`.

    `place` is a layer's name ("" for the model itself). A "tensor" hook sits on the layer's
    output, or on a parameter if `place` names one; a "post_accumulate" hook on that parameter, or
    on each the layer holds.
    """

    kind: str
    place: str
    action: str = "look"
    amount: float = 1.0


@dataclass(frozen=True, eq=False)
class Seen:
    """One tensor handed to a hook ("grad_input 0"); all None where torch passed None."""

    label: str
    shape: tuple[int, ...] | None
    value: Array | None


@dataclass(frozen=True, eq=False)
class Event:
    """One firing of a hook: number `number` of the run, number `call` of this hook here.

    `place` is the hook's, or for a post-accumulate hook the parameter. `changed` says whether
    the hook replaced what it saw.
    """

    number: int
    kind: str
    place: str
    call: int
    seen: tuple[Seen, ...]
    changed: bool


@dataclass
class Recording:
    """The events of one run, in order, and the random numbers of its "noise" actions."""

    events: list[Event] = field(default_factory=list)
    random: torch.Generator = field(default_factory=lambda: torch.Generator().manual_seed(0))

    def react(self, hook: Hook, place: str, values: tuple[Any, ...]) -> Any:
        """Note what the hook sees and return what replaces it; None if the hook only looks,
        because a hook that returns something replaces what it was given.

        Tensors are copied at once: an in-place operation may come next.
        """
        kind = KINDS[hook.kind]
        labelled = dict(zip(kind.sees, values, strict=True))
        seen = tuple(_seen(*item) for pair in labelled.items() for item in _parts(*pair))
        call = sum((e.kind, e.place) == (hook.kind, place) for e in self.events)
        changed = hook.action != "look"
        self.events.append(Event(len(self.events), hook.kind, place, call, seen, changed))
        return self._acted(hook, labelled[kind.changes]) if changed else None

    def _acted(self, hook: Hook, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._acted(hook, part) for part in value)
        if isinstance(value, Tensor) and value.is_floating_point():
            return ACTIONS[hook.action](value, hook.amount, self.random)
        return value


def _parts(label: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple):
        yield from ((f"{label} {i}", part) for i, part in enumerate(value))
    elif isinstance(value, Tensor):
        yield label, value
    else:
        yield from ((f"{label} {i}", part) for i, part in enumerate(tensors_in(value)))


def _seen(label: str, value: Any) -> Seen:
    if not isinstance(value, Tensor):
        return Seen(label, None, None)
    return Seen(label, tuple(value.shape), Kept(value.detach()).array())


def install(hook: Hook, model: nn.Module, recording: Recording, handles: list[Any]) -> None:
    """Put the hook in its place; everything to be removed later is appended to `handles`.

    Raises ValueError as `places` does, RuntimeError where torch refuses.
    """
    layers, parameters = places(hook, model)
    register = KINDS[hook.kind].method
    if hook.kind == "post_accumulate":
        for name, parameter in parameters.items():
            fire = _accumulated(hook, name, recording)
            handles.append(getattr(parameter, register)(fire))
    elif hook.kind != "tensor":
        handles.append(getattr(layers[hook.place], register)(_module(hook, recording)))
    elif hook.place in parameters:
        handles.append(parameters[hook.place].register_hook(_tensor(hook, recording)))
    else:
        watch = _output(_tensor(hook, recording), handles)
        handles.append(layers[hook.place].register_forward_hook(watch))


def places(hook: Hook, model: nn.Module) -> tuple[dict[str, nn.Module], dict[str, nn.Parameter]]:
    """All layers, and the trainable parameters that are the hook's place or are held by it.

    Raises ValueError, with a sentence, for an unknown kind, action or place.
    """
    if hook.kind not in KINDS:
        raise ValueError(f"unknown kind of hook {hook.kind!r}; it can be {', '.join(KINDS)}")
    if hook.action not in ACTIONS:
        raise ValueError(f"unknown action {hook.action!r}; it can be {', '.join(ACTIONS)}")
    layers = dict(model.named_modules(remove_duplicate=False))
    parameters = {
        name: parameter
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and hook.place in (name, name.rpartition(".")[0])
    }
    on_parameters = hook.kind in ("tensor", "post_accumulate")
    if hook.place not in layers and not (on_parameters and hook.place in parameters):
        kinds = "layer or trainable parameter" if on_parameters else "layer"
        raise ValueError(f"the model has no {kinds} named {hook.place!r}")
    return layers, parameters


def _module(hook: Hook, recording: Recording) -> Callable[..., Any]:
    def fire(module: nn.Module, *values: Any) -> Any:
        return recording.react(hook, hook.place, values)

    return fire


def _tensor(hook: Hook, recording: Recording) -> Callable[[Tensor], Any]:
    def fire(grad: Tensor) -> Any:
        return recording.react(hook, hook.place, (grad,))

    return fire


def _accumulated(hook: Hook, name: str, recording: Recording) -> Callable[[Tensor], None]:
    def fire(parameter: Tensor) -> None:
        replaced = recording.react(hook, name, (parameter.grad,))
        if replaced is not None:
            parameter.grad = replaced

    return fire


def _output(fire: Callable[[Tensor], Any], handles: list[Any]) -> Callable[..., None]:
    def watch(module: nn.Module, args: Any, output: Any) -> None:
        handles.extend(t.register_hook(fire) for t in tensors_in(output) if t.requires_grad)

    return watch
