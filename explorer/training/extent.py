"""What a picture of the loss has to show: where a run has been, and where it is going."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from explorer.program import ProgramRefused
from explorer.training.planes import Plane
from explorer.training.views import Point, View

#: The first picture reaches this many times as far as the start is from 0.
_REACH = 1.2
#: What is further away than so many times the start's distance from 0, or than this, is in the
#: picture only if the loss is lower there: of a run that diverges the first steps are seen.
_FAR = 100
#: A run whose last step is so many times as long as its median step runs away.
_LONGER = 10
#: Steps ahead that it shows as well, and the seconds they may take.
_AHEAD, _SECONDS = 100, 0.06
#: A projected path, which may have hardly begun, may go on so many times as far.
_WIDER = 20


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
    with suppress(ProgramRefused, ValueError):
        ahead = session.look_ahead(plane, steps=_AHEAD, seconds=_SECONDS)
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
