"""Checks of the answer to a press, besides the types and counts that `trace.validation` checks.

The page shows a view, and sends actions and snapshots back, without checking them again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from explorer.trace.validation import require, validate
from explorer.training.history import Action, Track
from explorer.training.landscape import Surface
from explorer.training.optimizer_spec import OptimizerSpec, Update
from explorer.training.program import MOST_ELEMENTS
from explorer.training.views import ParameterView, View

#: What an action may be, and a graph; what is said of each press.
ACTIONS = frozenset({"reset", "zero_grad", "forward", "backward", "step", "iteration", "set"})
_GRAPHS = frozenset({"none", "live", "freed"})
_PREVIEWS = frozenset({"zero_grad", "forward", "backward", "step", "iteration", "reset"})
#: The types of a snapshot's fields, as they arrive, and of its mark.
_SNAPSHOT: dict[str, type] = {
    "seed": int, "parameters": dict, "grads": dict, "optimizer": dict, "state": dict,
    "random": Tensor, "hyper": dict, "mark": tuple,
}  # fmt: skip
_MARK = [int, int, int, int, str]


def validate_view(view: View, spec: OptimizerSpec) -> None:
    """Raises ValueError for a view that cannot be drawn."""
    validate(view, elements=2 * MOST_ELEMENTS)  # a complex number is two
    require(view.optimizer == spec.name, "optimizer")
    require(spec.validate(view.hyper).keys() == view.hyper.keys(), "hyper")
    require(view.graph in _GRAPHS and view.previews.keys() >= _PREVIEWS, "previews")
    require(view.loss is None or view.loss.size == 1, "loss")
    require(view.steps >= 0 and view.passes >= 0, "steps")
    ids = {node.id for node in view.nodes}
    require(len(ids) == len(view.nodes), "nodes")
    require(all(edge.source in ids and edge.target in ids for edge in view.edges), "edges")
    first = next(iter(view.parameters.values()), None)
    require(first is not None and first.value.size > 0, "parameters")  # the one shown first
    for name, parameter in view.parameters.items():
        require(parameter.name == name, "parameters")
        _validate_parameter(parameter)
    for updates in (view.last, view.next):
        require(updates.keys() <= view.parameters.keys(), "last")
        for name, update in updates.items():
            _validate_update(update, view.parameters[name].value)


def _validate_parameter(parameter: ParameterView) -> None:
    shape = parameter.value.shape
    for array in (parameter.grad, parameter.update):
        require(array is None or array.shape == shape, "grad")
    require(all(array.size > 0 for array in parameter.buffers.values()), "buffers")


def _validate_update(update: Update, value: np.ndarray) -> None:
    """Its arrays have the parameter's shape, with pairs for complex numbers, or are flat."""
    require(bool(update.lines), "lines")
    shape = update.after.shape
    require(shape[: value.ndim] == value.shape or (bool(shape) and shape[0] <= value.size), "lines")
    for line in update.lines:
        arrays = (line.value, *(n for n in line.numbers.values() if isinstance(n, np.ndarray)))
        require(all(array.shape == shape for array in arrays), "lines")


def validate_surface(surface: Surface) -> Surface:
    """Raises ValueError for a surface that cannot be drawn."""
    validate(surface, elements=2 * MOST_ELEMENTS)
    x, y = surface.x, surface.y
    require(x.ndim == y.ndim == 1 and min(x.size, y.size) > 0, "x")
    require(surface.loss.shape == (y.size, x.size) and len(surface.labels) == 2, "loss")
    require(all(array.dtype.kind == "f" for array in (x, y, surface.loss)), "loss")
    return surface


def validate_track(track: Track) -> Track:
    """Raises ValueError for lists that do not belong together."""
    require(len(track.losses) == len(track.loss_steps), "losses")
    require(len(track.norms) == len(track.norm_steps), "norms")
    return track


def validate_actions(actions: Any) -> list[Action]:
    """Raises ValueError for what is no list of actions."""
    require(type(actions) is list, "actions")
    for action in actions:
        require(type(action) is tuple and len(action) == 2 and action[0] in ACTIONS, "actions")
    return list(actions)


def validate_snapshot(data: Any, view: View) -> dict[str, Any]:
    """The fields of a Snapshot but the track. Raises ValueError for another type, or other
    parameters than the `view` has."""
    require(type(data) is dict and data.keys() == _SNAPSHOT.keys(), "snapshot")
    require(all(type(data[name]) is kind for name, kind in _SNAPSHOT.items()), "snapshot")
    require([type(item) for item in data["mark"]] == _MARK and min(data["mark"][:4]) >= 0, "mark")
    shapes = {name: p.value.shape for name, p in view.parameters.items()}
    tensors: dict[Any, Any] = data["parameters"]
    require(all(type(tensor) is Tensor for tensor in tensors.values()), "parameters")
    require({name: tuple(t.shape) for name, t in tensors.items()} == shapes, "parameters")
    return data
