"""The loss over a plane through the space of parameters: its numbers, and what a picture of it has
to show, which is where a run has been and where it is going.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from explorer import limits
from explorer.program import ProgramRefused
from explorer.training.batches import whole_problem
from explorer.training.many_losses import many_losses
from explorer.training.planes import Plane
from explorer.training.problem import Live, Problem, random_stream
from explorer.training.views import Point, View

#: Numbers of the points that are made at a time where the losses are computed one by one: they stay
#: in the processor's cache.
_FEW_NUMBERS = 150_000
#: The fewest points of a side, where a loss takes long.
COARSEST = 9
#: Points of a line, and on each side of a plane.
LINE, SIDE = 121, 41
#: Places at which both ways to compute the losses are tried, and how far apart they are along each
#: axis (https://extremelearning.com.au/unreasonable-effectiveness-of-quasirandom-sequences/).
_TRIED, _STEPS = 32, (0.7549, 0.5698)
#: Seconds of a loss, and numbers of its parameters, above which it is not slow for its calls, but
#: for what it computes.
_LONG, _LARGE = 0.001, 20_000
#: Computes the loss at points, which are rows of all numbers joined.
Compute = Callable[[Live, np.ndarray], list[float]]


@dataclass(frozen=True)
class Surface:
    """`loss[row, column]` is the loss at (`x[column]`, `y[row]`); NaN where it cannot be computed.

    `path` (n, 2) is where the run was, oldest first. Arrays are read-only.
    """

    x: np.ndarray
    y: np.ndarray
    loss: np.ndarray
    path: np.ndarray
    labels: tuple[str, str]
    exact: bool


def loss_surface(
    problem: Problem,
    plane: Plane,
    points: Sequence[Point],
    *,
    seed: int = 0,
    size: int = SIDE,
    margin: float = 0.35,
    seconds: float | None = None,
) -> Surface:
    """The loss on a size × size grid around the path; the session's own numbers are not touched.

    `seconds` of processor time make the grid coarser where computing the loss takes long. A plane
    without a second direction gives one row. A loss that draws random numbers draws the same ones
    at every place, and mini-batches are left out. Raises `ProgramRefused` when a program's setup
    does.
    """
    path = plane.place(points)
    return surface_around(
        problem, plane, path, seed=seed, size=size, margin=margin, seconds=seconds
    )


def surface_around(
    problem: Problem,
    plane: Plane,
    path: np.ndarray,
    *,
    seed: int = 0,
    size: int | None = None,
    margin: float = 0.35,
    seconds: float | None = None,
) -> Surface:
    """`loss_surface` around coordinates in the plane, (n, 2)."""
    flat = not plane.second.any()
    size = size or (LINE if flat else SIDE)
    places = _some_places(path, margin)
    compute, live, each = _fastest(whole_problem(problem), seed, plane, *places)
    if seconds is not None and not flat:
        size = max(COARSEST, min(size, math.isqrt(int(seconds / each))))
    across, up = plane.linear_widths
    x = _axis(path[:, 0], size, margin, across)
    y = np.zeros(1) if flat else _axis(path[:, 1], size, margin, up)
    losses: list[float] = []
    most = limits.MOST_SURFACE_NUMBERS if compute is many_losses else _FEW_NUMBERS
    few = max(1, most // len(plane.origin))  # places at a time
    for first in range(0, len(y) * len(x), few):
        row, column = np.divmod(np.arange(first, min(first + few, len(y) * len(x))), len(x))
        losses += compute(live, _points(plane, x[column], y[row]))
    loss = np.array(losses).reshape(len(y), len(x))
    for array in (x, y, loss, path):
        array.setflags(write=False)
    return Surface(x, y, loss, path, plane.labels, plane.exact)


def _points(plane: Plane, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The numbers of all parameters at these coordinates, a row for each."""
    points = x[:, None] * plane.first
    points += plane.origin
    if plane.second.any():
        points += y[:, None] * plane.second
    return points


def _some_places(path: np.ndarray, margin: float) -> list[np.ndarray]:
    """Coordinates of a few places spread over the picture, along both axes."""
    ends = [_axis(along, 2, margin) for along in path.T]
    shares = [(0.5 + step * np.arange(_TRIED)) % 1 for step in _STEPS]
    return [low + s * (high - low) for (low, high), s in zip(ends, shares, strict=True)]


def _fastest(
    problem: Problem, seed: int, plane: Plane, x: np.ndarray, y: np.ndarray
) -> tuple[Compute, Live, float]:
    """How to compute many losses: all at once, if at these places that is clearly faster and gives
    the same. An instance to compute them with, and the seconds to plan with for each: of many at
    once, four times what they take if this is less than what one takes by itself. Time of this
    thread, so that a busy machine does not make a picture coarser."""
    live = problem.build(seed)
    _losses_at(live, _points(plane, x[:1], y[:1]))  # the first is slower

    def timed(compute: Compute, count: int) -> tuple[list[float], float]:
        start = time.thread_time()
        losses = compute(live, _points(plane, x[:count], y[:count]))
        return losses, max((time.thread_time() - start) / count, 1e-6)

    losses, single = timed(_losses_at, 2)
    if single > _LONG or len(plane.origin) > _LARGE:
        return _losses_at, live, single
    losses += _losses_at(live, _points(plane, x[2:], y[2:]))
    try:
        many_losses(live, _points(plane, x[:1], y[:1]))
        together, each = timed(many_losses, len(x))
    except Exception:  # an "if", an operator that takes no batches, a reader's own error
        return _losses_at, problem.build(seed), single
    most = max((abs(loss) for loss in losses if math.isfinite(loss)), default=0.0)
    is_same = np.allclose(together, losses, 1e-4, 1e-6 * most, equal_nan=True)
    if is_same and 2 * each < single:
        return many_losses, live, min(4 * each, single)
    return _losses_at, problem.build(seed), single


def _losses_at(live: Live, points: np.ndarray) -> list[float]:
    """The loss at these points, rows of all numbers joined; NaN where it cannot be computed."""
    parameters, generator = list(live.parameters.values()), torch.default_generator
    parts = torch.from_numpy(points).split([p.numel() for p in parameters], dim=1)
    values = [
        part.to(p.dtype).reshape(-1, *p.shape).unbind()
        for part, p in zip(parts, parameters, strict=True)
    ]
    losses = []
    with random_stream(live.random), torch.enable_grad():
        for place in zip(*values, strict=True):
            for parameter, value in zip(parameters, place, strict=True):
                parameter.data.copy_(value)
            generator.set_state(live.random)
            try:
                losses.append(live.loss().item())
            except Exception:  # a reader's loss may refuse some places
                losses.append(float("nan"))
    return losses


def _axis(along: np.ndarray, size: int, margin: float, linear_width: float = 0.0) -> np.ndarray:
    """From below the path's lowest to above its highest coordinate."""
    finite = along[np.isfinite(along)]
    if linear_width:
        even = _axis(np.arcsinh(finite / linear_width), size, margin)
        numbers: np.ndarray = linear_width * np.sinh(even.clip(-_EVEN, _EVEN))
        return numbers
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    reach = max(high - low, 0.1 * max(abs(low), abs(high)), 1e-3)
    return np.linspace(low - margin * reach, high + margin * reach, size)


#: The largest number on a logarithmic axis, where it is even: e^650 is near the end of float64.
_EVEN = 650.0


# -- what a picture has to show -------------------------------------------------------------------

#: The first picture reaches this many times as far as the start is from 0.
_REACH = 1.2
#: What is further away than so many times the start's distance from 0, or than this, is in the
#: picture only if the loss is lower there: of a run that diverges the first steps are seen.
_FAR = 100
#: Beyond so many times what the first picture reaches, an axis along which a run diverges turns
#: logarithmic: until then its steps are seen to grow.
_LINEAR = 8
#: A run whose last step is so many times as long as its median step runs away.
_LONGER = 10
#: Steps ahead that it shows as well.
_AHEAD = 100
#: A projected path, which may have hardly begun, may go on so many times as far.
_WIDER = 20


def widen(plane: Plane, path: np.ndarray, losses: np.ndarray) -> tuple[Plane, np.ndarray]:
    """The plane and the part of a path, (n, 2), for a picture. On chosen axes, all of a run that
    diverges: an axis along which it does turns logarithmic."""
    finite = np.isfinite(path).all(1)
    if not plane.exact or not finite[0]:
        return plane, near_part(path, losses)
    reach = _REACH * np.maximum(np.abs(path[0]), 1.0)
    climbs = finite & ~(losses < losses[0])  # also where the loss is not known
    is_far = (np.abs(path[climbs]) > _LINEAR * reach).any(0)
    across, up = np.where(is_far, reach, 0.0).tolist()
    return replace(plane, linear_widths=(across, up)), path[finite]


def extent_of_path(plane: Plane, path: np.ndarray) -> np.ndarray:
    """The lowest and the highest coordinates, (2, 2), of a path in the plane; around a start on
    chosen axes as much as it is from 0."""
    if plane.exact:
        reach = _REACH * np.maximum(np.abs(path[0]), 1.0) / 1.35
        path = np.concatenate([path, [-reach, reach]])
    return _ends(path)


def near_part(path: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """The points of a path, (n, 2), that a picture can show; at least the first. `losses` are those
    of the points, (n,)."""
    reach = _FAR * max(float(np.abs(path[0]).max()), 1.0)
    is_near = np.abs(path).max(1) <= reach  # NaN is not
    is_lower = np.isfinite(path).all(1) & (losses < losses[0])
    is_near[0] = True
    return path[is_near | is_lower]


def seen_points(points: Sequence[Point], losses: np.ndarray) -> Sequence[Point]:
    """The points up to the last that a picture can show; at least the first. Of a run that diverges
    the rest would be a picture in which nothing else can be told apart."""
    reach = _FAR * max(_largest(points[0]), 1.0)
    for last in range(len(points) - 1, 0, -1):
        largest = _largest(points[last])  # NaN or infinite of a run that is
        if largest <= reach or (np.isfinite(largest) and losses[last] < losses[0]):
            return points[: last + 1]
    return points[:1]


def losses_at(points: Sequence[Point], view: View) -> np.ndarray:
    """The last known loss at each point, (n,), with the other sign for a run that climbs. NaN
    before the first, and for a run whose steps become ever longer: it goes to no lower place."""
    known = dict(zip(view.track.loss.steps, view.track.loss.values, strict=True))
    losses, last = [], np.nan
    for point in points:
        last = known.get(point.steps, last)
        losses.append(last)
    sign = -1 if view.settings.hyper.get("maximize") else 1
    return np.full(len(losses), np.nan) if _runs_away(points) else sign * np.array(losses)


def _runs_away(points: Sequence[Point]) -> bool:
    rows = (np.concatenate([value.ravel() for value in p.values.values()]) for p in points)
    with np.errstate(over="ignore", invalid="ignore"):
        moves = np.linalg.norm(np.diff(np.stack([*rows]).astype(float), axis=0), axis=1)
    moves = moves[np.isfinite(moves)]
    return len(moves) > 1 and bool(moves[-1] > _LONGER * np.median(moves))


def extend_ahead(session: Any, plane: Plane, path: np.ndarray) -> np.ndarray:
    """The extent, in round numbers, of these coordinates and of where the session is going, if it
    goes down."""
    low, high = _ends(path)
    if any(plane.linear_widths):  # it goes up
        return path
    with suppress(ProgramRefused, ValueError):
        ahead = session.look_ahead(plane, steps=_AHEAD, seconds=limits.EXTENT_SECONDS)
        if len(ahead.losses) and ahead.losses[-1] <= ahead.losses[0]:
            room = (1 if plane.exact else _WIDER) * (high - low)
            way = np.clip(ahead.path, low - room, high + room)
            low, high = np.minimum(low, way.min(0)), np.maximum(high, way.max(0))
    with np.errstate(divide="ignore"):
        unit = np.where(high > low, 10.0 ** np.floor(np.log10((high - low) / 5)), 1.0)
    return np.array([np.floor(low / unit) * unit, np.ceil(high / unit) * unit])


def _largest(point: Point) -> float:
    """The largest absolute value of all parameters."""
    return max((float(np.abs(v).max()) for v in point.values.values() if v.size), default=0.0)


def _ends(path: np.ndarray) -> np.ndarray:
    finite = path[np.isfinite(path).all(1)]
    return np.array([finite.min(0), finite.max(0)] if len(finite) else [np.zeros(2), np.ones(2)])
