"""What a page shows of a training session: plain, immutable data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from explorer.language import ProgramError
from explorer.trace.records import WHOLE
from explorer.training import explain
from explorer.training.arithmetic import Update, update
from explorer.training.graph import waiting_graph
from explorer.training.live_session import Before, Machine
from explorer.training.numbers import to_numpy
from explorer.training.values import Values


@dataclass(frozen=True)
class Event:
    """What one press did, or why it could not be done (`error` is then set, nothing changed)."""

    action: str
    message: str
    error: ProgramError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


def nothing(action: str, message: str) -> Event:
    """The event of a press for which there was nothing to do."""
    return Event(action, message, ProgramError(message))


@dataclass(frozen=True)
class ParameterView:
    """One parameter now. Arrays have its shape.

    `grad` is `.grad` (None as in PyTorch), `update` the new value minus the old of the last step
    (None if there was none), `buffers` the optimizer's state ("momentum_buffer", "exp_avg", …).
    """

    name: str
    value: np.ndarray
    grad: np.ndarray | None
    update: np.ndarray | None
    buffers: dict[str, np.ndarray]


@dataclass(frozen=True)
class Point:
    """A place on the path: the number of steps taken, and every parameter's value."""

    steps: int
    values: dict[str, np.ndarray]


@dataclass(frozen=True)
class View:
    """A session at one moment.

    `steps` counts the steps since the reset, `passes` the backward passes summed in `.grad`.
    `graph` is "none", "live" (after forward) or "freed" (after backward); `dot` draws a live one in
    Graphviz's language and is empty otherwise. `losses[i]` was computed
    after `loss_steps[i]` steps, likewise `norms`, the gradient's Euclidean norm after each
    backward. `trouble` says where the run became infinite or NaN. `previews` says what each
    press would do. `last` is the arithmetic of the last step and `next` that of a step now, for
    the parameters that have a gradient; of parameters with more than `records.WHOLE` elements
    they hold the first of these, flattened.
    """

    seed: int
    optimizer: str
    hyper: dict[str, Any]
    steps: int
    passes: int
    graph: str
    dot: str
    parameters: dict[str, ParameterView]
    losses: tuple[float, ...]
    loss_steps: tuple[int, ...]
    norms: tuple[float, ...]
    norm_steps: tuple[int, ...]
    trouble: str
    previews: dict[str, str]
    last: dict[str, Update]
    next: dict[str, Update]
    undoable: int
    redoable: int


def view_of(machine: Machine, undoable: int, redoable: int) -> View:
    """The machine's present state as plain data."""
    track, now = machine.track, machine.before()
    return View(
        seed=machine.seed,
        optimizer=machine.optimizer_name,
        hyper=dict(machine.hyper),
        steps=track.steps,
        passes=track.passes,
        graph=machine.graph,
        dot=_dot(machine),
        parameters=parameters_of(machine),
        losses=tuple(track.losses),
        loss_steps=tuple(track.loss_steps),
        norms=tuple(track.norms),
        norm_steps=tuple(track.norm_steps),
        trouble=track.trouble,
        previews=explain.before_press(machine),
        last=_updates(machine.optimizer_name, machine.last_step),
        next=_updates(machine.optimizer_name, now),
        undoable=undoable,
        redoable=redoable,
    )


def parameters_of(machine: Machine) -> dict[str, ParameterView]:
    """Every parameter of the live instance, copied."""
    return {
        name: ParameterView(
            name,
            to_numpy(p),
            None if p.grad is None else to_numpy(p.grad),
            None
            if machine.last_step is None
            else to_numpy(p.detach() - machine.last_step.parameters[name]),
            {
                key: to_numpy(value)
                for key, value in machine.optimizer.state.get(p, {}).items()
                if isinstance(value, Tensor)
            },
        )
        for name, p in machine.live.parameters.items()
    }


def update_of(
    optimizer: str, before: Before | None, name: str, most: int | None = None
) -> Update | None:
    """The arithmetic of a step from `before`; None where the parameter takes no part in it or no
    step can be made.

    `most` limits it to the first elements, flattened.
    """
    if before is None or (grad := before.grads[name]) is None:
        return None
    value, state = before.parameters[name], before.optimizer.get(name, {})
    if most is not None and value.numel() > most:
        shape = value.shape
        value, grad = value.flatten()[:most], grad.flatten()[:most]
        state = {
            key: item.flatten()[:most] if isinstance(item, Tensor) and item.shape == shape else item
            for key, item in state.items()
        }
    try:
        return update(name, optimizer, value, grad, state, before.hyper)
    except RuntimeError:  # a setting beyond the dtype: the optimizer cannot step either
        return None


def point_of(values: Values) -> Point:
    """Where the run was at this kept moment; made once, so that a path need not be copied anew."""
    made: Point | None = vars(values).get("point")
    if made is None:
        arrays = {name: to_numpy(p) for name, p in values.parameters.items()}
        made = vars(values)["point"] = Point(values.mark[0], arrays)
    return made


def _dot(machine: Machine) -> str:
    if machine.graph != "live" or machine.loss is None:
        return ""
    return waiting_graph(machine.loss, machine.live.parameters)


def _updates(optimizer: str, before: Before | None) -> dict[str, Update]:
    names = before.parameters if before else {}
    found = {name: update_of(optimizer, before, name, WHOLE) for name in names}
    return {name: one for name, one in found.items() if one is not None}
