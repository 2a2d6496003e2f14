"""The loss around the path, computed once and kept while the path stays in it.

Presets open in the same state for everybody, so their surfaces are shared by all readers.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from matplotlib.figure import Figure

from explorer.trace.colours import CONTOUR
from explorer.training import Plane, Point, Surface, through_element, through_elements, through_path
from explorer.ui.optimizer.problems import OWN
from explorer.ui.optimizer.workspace import Session, Workspace

#: An element as (parameter, flattened place).
Pair = tuple[tuple[str, int], tuple[str, int]]
_KEY = "surface"
#: The first picture reaches this many times as far as the start is from 0.
_REACH = 1.2


@dataclass(frozen=True)
class Drawn:
    """A surface with its picture, and the number of steps after which it was computed."""

    name: str
    plane: Plane
    surface: Surface
    image: str
    steps: int

    def place(self, points: Sequence[Point]) -> np.ndarray:
        """Coordinates of these points, (n, 2); not finite where they are not."""
        with np.errstate(all="ignore"):
            return self.plane.place(points)


def surface(space: Workspace, pair: Pair | None, points: Sequence[Point]) -> Drawn:
    """The surface through two elements (equal ones: a line), or along the path if None.

    Computed anew when the path leaves it or, where other parameters move too, when the number of
    steps has doubled. Raises ProgramRefused.
    """
    name = f"{space.view.seed} {pair}"
    kept: Drawn | None = space.kept.get(_KEY)
    if kept is not None and kept.name == name and not _stale(kept, points):
        return kept
    plane = _plane(pair, points)
    path = plane.place([*points, *_corners(plane, points[0])] if plane.exact else points)
    with space.lock:
        if space.chosen.key == OWN:
            found, image = _computed(space.session, plane, path)
        else:
            found, image = _shared(_all_of(space, plane, path), space.session, plane, path)
    drawn = space.kept[_KEY] = Drawn(name, plane, found, image, points[-1].steps)
    return drawn


def _all_of(space: Workspace, plane: Plane, path: np.ndarray) -> str:
    """A name for all that a preset's surface depends on."""
    parts = (space.chosen.name, space.session.seed, plane.labels, plane.exact, path.shape)
    name = hashlib.sha256(repr(parts).encode())
    for array in (plane.origin, plane.first, plane.second, path):
        name.update(array.tobytes())
    return name.hexdigest()


def _computed(session: Session, plane: Plane, path: np.ndarray) -> tuple[Surface, str]:
    found = session.surface(plane, path)
    return found, _picture(found)


@st.cache_resource(max_entries=128, show_spinner=False)
def _shared(name: str, _session: Session, _plane: Plane, _path: np.ndarray) -> tuple[Surface, str]:
    """Immutable, so that all readers may share one; who asks meanwhile waits for it."""
    return _computed(_session, _plane, _path)


def _plane(pair: Pair | None, points: Sequence[Point]) -> Plane:
    if pair is None:
        return through_path(points)
    at = points[-1] if _finite(points[-1]) else points[0]
    first, second = ((name, _index(at, name, place)) for name, place in pair)
    if first == second:
        return through_element(at, first)
    return through_elements(at, first, second)


def _finite(point: Point) -> bool:
    return all(np.isfinite(value).all() for value in point.values.values())


def _index(point: Point, name: str, place: int) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(place, point.values[name].shape))


def _corners(plane: Plane, start: Point) -> list[Point]:
    """Points at which the first picture begins and ends, symmetrical around 0."""
    (a, b) = plane.place([start])[0]
    reach = [_REACH * max(abs(float(v)), 1.0) / 1.35 for v in (a, b)]
    return [_point(plane, start, sign * reach[0], sign * reach[1]) for sign in (-1, 1)]


def _point(plane: Plane, like: Point, a: float, b: float) -> Point:
    joined = plane.origin + a * plane.first + b * plane.second
    values, used = {}, 0
    for name, value in like.values.items():
        values[name] = joined[used : used + value.size].reshape(value.shape)
        used += value.size
    return Point(like.steps, values)


def _stale(kept: Drawn, points: Sequence[Point]) -> bool:
    x, y = kept.surface.x, kept.surface.y
    a, b = kept.place(points[-1:])[0]
    if not np.isfinite([a, b]).all() or max(abs(a), abs(b)) > 1e6:
        return False  # there is nothing to see so far away
    if not x[0] <= a <= x[-1] or (len(y) > 1 and not y[0] <= b <= y[-1]):
        return True
    others = kept.plane.origin.any() or not kept.plane.exact
    return bool(others) and points[-1].steps >= max(2, 2 * kept.steps)


def _picture(found: Surface) -> str:
    """Filled contours, without axes, as a data address; empty for a line."""
    if len(found.y) == 1:
        return ""
    loss = np.where(np.isfinite(found.loss), found.loss, np.nan)
    low = float(np.nanmin(loss)) if np.isfinite(loss).any() else 0.0
    height = np.log10(np.clip(loss - low, 0, 1e30) + _floor(loss - low))
    figure = Figure(figsize=(4, 3), dpi=90, frameon=False)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    known = height[np.isfinite(height)]
    if len(known) and known.max() > known.min():
        axes.contourf(found.x, found.y, height, levels=16, cmap="GnBu_r", extend="both")
        axes.contour(found.x, found.y, height, levels=16, colors=CONTOUR, linewidths=0.3)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def _floor(above: np.ndarray) -> float:
    """Keeps the logarithm finite at the lowest place: a hundredth of the typical height."""
    typical = float(np.nanmedian(above)) if np.isfinite(above).any() else 0.0
    return max(typical * 0.01, 1e-30)
