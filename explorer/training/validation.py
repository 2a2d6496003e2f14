"""Checks of the answer to a press, besides the types and counts that `trace.validation` checks.

The page shows a view, and sends actions and snapshots back, without checking them again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from explorer import limits
from explorer.trace.validation import require, validate
from explorer.training.clipping import CLIPPING, Clip
from explorer.training.curvature import WHOLE, Curvature
from explorer.training.derivation import Update
from explorer.training.landscape import Surface
from explorer.training.lookahead import Ahead
from explorer.training.loop import ACTIONS
from explorer.training.optimizer_spec import OptimizerSpec
from explorer.training.schedulers import SCHEDULERS
from explorer.training.views import ParameterView, View

#: The most items of a field of a view: a curve has one for each step.
_ITEMS = dict.fromkeys(("values", "steps"), limits.MOST_TRACK_POINTS)
#: What a graph may be; what is said of each press.
_GRAPHS = frozenset({"none", "live", "freed"})
_PREVIEWS = frozenset(ACTIONS.keys() - {"set", "move"})
#: The types of a snapshot's fields, as they arrive, and of its mark.
_SNAPSHOT: dict[str, type] = {
    "seed": int, "parameters": dict, "grads": dict, "optimizer": dict, "state": dict,
    "schedule": dict, "random": Tensor, "hyper": dict, "settings": dict, "mark": tuple,
}  # fmt: skip
_MARK = [int, int, int, int, int, str]


def validate_view(view: View, spec: OptimizerSpec) -> None:
    """Raises ValueError for a view that cannot be drawn."""
    # A complex number is two.
    validate(view, elements=2 * limits.MOST_STEPPED_ELEMENTS, items=_ITEMS)
    require(view.optimizer == spec.name, "optimizer")
    _validate_settings(view, spec)
    require(view.graph.state in _GRAPHS and view.previews.keys() >= _PREVIEWS, "previews")
    require(view.loss.value is None or view.loss.value.size == 1, "loss")
    require(view.loss.batch is None, "batch")  # a reader's own program has none
    require(view.track.steps >= 0 and view.track.passes >= 0, "steps")
    for curve in view.track.curves():
        require(len(curve.values) == len(curve.steps), "curves")
    ids = {node.id for node in view.graph.nodes}
    require(len(ids) == len(view.graph.nodes), "nodes")
    edges = view.graph.edges
    require(all(edge.source in ids and edge.target in ids for edge in edges), "edges")
    first = next(iter(view.parameters.values()), None)
    require(first is not None and first.value.size > 0, "parameters")  # the one shown first
    for name, parameter in view.parameters.items():
        require(parameter.name == name, "parameters")
        _validate_parameter(parameter)
    for updates in (view.step.last, view.step.next):
        require(updates.keys() <= view.parameters.keys(), "step")
        for name, update in updates.items():
            _validate_update(update, view.parameters[name].value)
    require(view.clip.name in {"", *CLIPPING}, "clip")
    for clip in (view.clip.last, view.clip.next):
        if clip is not None:
            _validate_clip(clip, view)


def _validate_settings(view: View, spec: OptimizerSpec) -> None:
    settings = view.settings
    for hyper in (settings.hyper, settings.chosen):
        require(spec.validate(hyper).keys() == hyper.keys(), "hyper")
    for group in settings.groups:
        require(spec.validate(group.hyper).keys() == group.hyper.keys(), "groups")
        require(bool(group.parameters) and {*group.parameters} < view.parameters.keys(), "groups")
    require(settings.start is None or settings.start.keys() <= view.parameters.keys(), "start")
    require(settings.scheduler in {"", *SCHEDULERS}, "scheduler")


def _validate_clip(clip: Clip, view: View) -> None:
    """All numbers of its lines are single ones, or shaped like the gradient or flat."""
    require(clip.name == view.clip.name and bool(clip.grads), "clip")
    require(clip.before.keys() == clip.grads.keys() <= view.parameters.keys(), "clip")
    require(all(line.value.shape == () for line in clip.lines), "lines")
    for name, line in clip.grads.items():
        value = view.parameters[name].value
        shape = line.value.shape
        require(shape == value.shape or (len(shape) == 1 and shape[0] <= value.size), "lines")
        require(clip.before[name].shape == shape and line.value.size > 0, "lines")
    for line in (*clip.lines, *clip.grads.values()):
        arrays = [n for n in line.numbers.values() if isinstance(n, np.ndarray)]
        require(all(array.shape == line.value.shape for array in arrays), "lines")


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
    validate(surface, elements=2 * limits.MOST_STEPPED_ELEMENTS)
    x, y = surface.x, surface.y
    require(x.ndim == y.ndim == 1 and min(x.size, y.size) > 0, "x")
    require(surface.loss.shape == (y.size, x.size) and len(surface.labels) == 2, "loss")
    require(surface.loss.dtype.kind == "f" and _is_finite(x) and _is_finite(y), "loss")
    return surface


def validate_ahead(ahead: Ahead, steps: int, view: View, *, in_plane: bool) -> Ahead:
    """Raises ValueError for a path ahead that cannot be drawn."""
    validate(ahead, elements=2 * limits.MOST_STEPPED_ELEMENTS)
    shapes = {name: p.value.shape for name, p in view.parameters.items()}
    columns = 2 if in_plane else sum(p.value.size for p in view.parameters.values())
    count = len(ahead.losses)
    require(ahead.losses.shape == (count,) and count <= steps, "losses")
    require(ahead.path.shape == (count + 1, columns), "path")
    for changes in (ahead.gradient, ahead.update):
        require(all(shapes.get(name) == array.shape for name, array in changes.items()), "gradient")
        require(all(map(_is_finite, changes.values())), "gradient")
    require(ahead.arrows.keys() <= ({"gradient", "update"} if in_plane else set()), "arrows")
    require(all(array.shape == (2,) for array in ahead.arrows.values()), "arrows")
    require(ahead.largest_change >= 0, "largest_change")
    arrays = [ahead.path, ahead.losses, *ahead.arrows.values()]
    if ahead.curvature is not None:
        arrays += _curvature_arrays(ahead.curvature)
    require(all(array.dtype == np.float64 and np.isfinite(array).all() for array in arrays), "path")
    return ahead


def _is_finite(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" and bool(np.isfinite(array).all())


def _curvature_arrays(curvature: Curvature) -> list[np.ndarray]:
    """What has to be finite. Raises ValueError for a curvature that is none."""
    values, gradient, steepest = curvature.eigenvalues, curvature.gradient, curvature.steepest
    require(values.ndim == 1 and 1 <= values.size <= WHOLE, "eigenvalues")
    require(bool((np.diff(values) >= 0).all()), "eigenvalues")
    if curvature.is_whole:
        require(gradient.shape == steepest.shape == values.shape, "gradient")
    else:
        require(gradient.shape == steepest.shape == (0,) and values.size == 1, "gradient")
        require(not curvature.is_constant, "is_constant")
    return [values, gradient, steepest]


def validate_snapshot(data: Any, view: View) -> dict[str, Any]:
    """The fields of a Snapshot but the track. Raises ValueError for another type, or other
    parameters than the `view` has."""
    require(type(data) is dict and data.keys() == _SNAPSHOT.keys(), "snapshot")
    require(all(type(data[name]) is kind for name, kind in _SNAPSHOT.items()), "snapshot")
    require([type(item) for item in data["mark"]] == _MARK and min(data["mark"][:5]) >= 0, "mark")
    shapes = {name: p.value.shape for name, p in view.parameters.items()}
    tensors: dict[Any, Any] = data["parameters"]
    require(all(type(tensor) is Tensor for tensor in tensors.values()), "parameters")
    require({name: tuple(t.shape) for name, t in tensors.items()} == shapes, "parameters")
    return data
