"""The hook laboratory: put hooks on a network, see what they see, and what they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from explorer.networks.error_messages import explain
from explorer.networks.hooks import Event, Hook, Recording, install, places
from explorer.networks.inspection import copied, inspect, scalar_loss
from explorer.networks.preserve import preserved, removing
from explorer.networks.records import LayerError
from explorer.trace.capture import Kept
from explorer.trace.records import Array


@dataclass(frozen=True, eq=False)
class Change:
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
class Experiment:
    """What the hooks saw, in order, and every gradient without and with them.

    After an `error` the events are those up to it and `changes` is empty.
    """

    events: tuple[Event, ...]
    changes: tuple[Change, ...]
    loss_before: float | None
    loss_after: float | None
    error: LayerError | None = None


@dataclass(frozen=True)
class _Run:
    events: tuple[Event, ...]
    gradients: dict[str, Tensor]
    loss: float | None
    error: LayerError | None


def experiment(
    model: nn.Module,
    *inputs: Any,
    hooks: Sequence[Hook],
    loss: Callable[[Any], Tensor] | None = None,
    seed: int = 0,
) -> Experiment:
    """Run forward and backward twice from the same state, without and with `hooks`.

    `loss` is as for `inspect`. The model is left as it was, without hooks. Raises ValueError for
    a hook of an unknown kind or action, or on a layer the model does not have; what the model or
    torch does is told in `error`.
    """
    for hook in hooks:
        places(hook, model)
    before = _run(model, inputs, (), loss, seed)
    if before.error is not None:
        return Experiment((), (), before.loss, None, before.error)
    after = _run(model, inputs, hooks, loss, seed)
    names = [] if after.error else list({**before.gradients, **after.gradients})
    changes = (_change(n, before.gradients.get(n), after.gradients.get(n)) for n in names)
    return Experiment(after.events, tuple(changes), before.loss, after.loss, after.error)


def _run(
    model: nn.Module,
    inputs: tuple[Any, ...],
    hooks: Sequence[Hook],
    loss: Callable[[Any], Tensor] | None,
    seed: int,
) -> _Run:
    recording = Recording()
    passed = tuple(copied(value) for value in inputs)
    value: float | None = None
    error: LayerError | None = None
    with (
        preserved(model, seed) as watch,
        removing() as handles,
        torch.enable_grad(),
        watch,
    ):
        try:
            for hook in hooks:
                install(hook, model, recording, handles)
            total = scalar_loss(model(*passed), loss)
            value = float(total.detach())
            total.backward()
        except Exception as raised:
            error = explain(raised)
        gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
        for i, tensor in enumerate(t for t in passed if isinstance(t, Tensor)):
            if tensor.grad is not None:
                gradients[f"input {i}"] = tensor.grad
    return _Run(tuple(recording.events), gradients, value, error)


def _change(name: str, before: Tensor | None, after: Tensor | None) -> Change:
    def norm(grad: Tensor | None) -> float | None:
        return None if grad is None else float(torch.linalg.vector_norm(grad))

    same = before is not None and after is not None and torch.equal(before, after)
    return Change(name, _array(before), _array(after), norm(before), norm(after), same)


def _array(tensor: Tensor | None) -> Array | None:
    return None if tensor is None else Kept(tensor).array()


@dataclass(frozen=True, eq=False)
class BackwardHooks:
    """The full and the deprecated backward hook on the same layer, side by side.

    `full` and `deprecated` only look; `full_scaled` and `deprecated_scaled` multiply grad_input
    by `amount`. `nodes` are the autograd nodes the layer's forward made, the last one first.
    """

    layer: str
    amount: float
    full: Experiment
    deprecated: Experiment
    full_scaled: Experiment
    deprecated_scaled: Experiment
    nodes: tuple[str, ...]
    reason: str


def compare_backward_hooks(
    model: nn.Module,
    *inputs: Any,
    layer: str = "",
    amount: float = 100.0,
    loss: Callable[[Any], Tensor] | None = None,
) -> BackwardHooks:
    """Show that the deprecated hook looks at an autograd node and the full one at the layer."""

    def run(kind: str, action: str) -> Experiment:
        return experiment(model, *inputs, hooks=[Hook(kind, layer, action, amount)], loss=loss)

    nodes = _nodes_of(model, inputs, layer)
    last = nodes[0] if nodes else "none"
    reason = (
        f"The deprecated hook sits on {last}, the last autograd node the layer's forward made, "
        "and its grad_input is what that node hands on. "
    )
    if nodes[1:]:
        reason += (
            f"Before it lie {', '.join(nodes[1:])}, so that is not the gradient of the layer's "
            "input. "
        )
    reason += (
        "The full hook sees the gradient of the layer's input and output. Changing its grad_input "
        "reaches what comes before the layer, never the layer's own parameters; changing the "
        "deprecated hook's reaches every node before the last one, the parameters included."
    )
    return BackwardHooks(
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
