"""The loss around the path, and its picture: computed once and kept while the path stays in it.

Presets open in the same state for everybody, so their surfaces are shared by all readers.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from matplotlib.figure import Figure

from explorer.trace.colours import CONTOUR
from explorer.training import Plane, Point, Surface, through_element, through_elements, through_path
from explorer.ui.common.plot import Axis, Line, Plot, around
from explorer.ui.optimizer.problems import OWN
from explorer.ui.optimizer.session import Session, Workspace

#: An element as (parameter, flattened place).
AxisPair = tuple[tuple[str, int], tuple[str, int]]
_KEY = "surface"
#: The first picture reaches this many times as far as the start is from 0.
_REACH = 1.2


@dataclass(frozen=True)
class DrawnSurface:
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


def plot_surface(
    workspace: Workspace,
    pair: AxisPair | None,
    points: tuple[Point, ...],
    moment: int,
    second: tuple[str, tuple[Point, ...]] | None,
) -> Plot:
    """The surface, or the curve of a single parameter, with the path of the run until now and a
    marker at `points[moment]`. `second` is the name and the path of the run to compare with.

    Raises ProgramRefused."""
    drawn = compute_surface(workspace, pair, points)
    paths = [(drawn.place(points), "main", "")]
    if second is not None:
        paths.append((drawn.place(second[1]), "beside", second[0]))
    if len(drawn.surface.y) == 1:
        return _plot_line(drawn, paths, moment)
    return _plot_plane(drawn, paths, moment, _caption(drawn, workspace))


def _plot_plane(drawn: DrawnSurface, paths: list[Any], moment: int, caption: str) -> Plot:
    surface = drawn.surface
    lines = [
        Line(p[:, 0], p[:, 1], kind, name, dots=len(p) <= 60) for p, kind, name in reversed(paths)
    ]
    across, up = surface.labels
    return Plot(
        Axis(across, float(surface.x[0]), float(surface.x[-1])),
        Axis(up, float(surface.y[0]), float(surface.y[-1])),
        tuple(lines),
        f"Loss over {across} and {up} (darker = lower), with the path of the run",
        image=drawn.image,
        now=tuple(paths[0][0][moment].tolist()),
        caption=caption,
    )


def _plot_line(drawn: DrawnSurface, paths: list[Any], moment: int) -> Plot:
    """One parameter: the loss as a curve, and where the run has been on it."""
    surface = drawn.surface
    row = surface.loss[0]
    lines = [Line(surface.x, row, "faint")]
    for path, kind, name in reversed(paths):
        x = path[:, 0]
        y = np.interp(x, surface.x, row, left=np.nan, right=np.nan)
        lines.append(Line(x, y, kind, name, dots=True))
    x = float(paths[0][0][moment, 0])
    return Plot(
        Axis(surface.labels[0], float(surface.x[0]), float(surface.x[-1])),
        around(row.tolist(), "loss", linear=True),
        tuple(lines),
        f"Loss over {surface.labels[0]}, with the path of the run",
        now=(x, float(np.interp(x, surface.x, row))),
    )


def _caption(drawn: DrawnSurface, workspace: Workspace) -> str:
    if not np.isfinite(drawn.surface.loss).any():
        return "The loss is not finite anywhere near here."
    if not drawn.plane.exact:
        return (
            "Loss in the plane of two directions, chosen from the path until step "
            f"{drawn.steps:,}; the path is projected onto it."
        )
    if sum(p.value.size for p in workspace.view.parameters.values()) > 2:
        return f"Darker = lower loss. All other parameters as after step {drawn.steps:,}."
    return "Darker = lower loss."


def compute_surface(
    workspace: Workspace, pair: AxisPair | None, points: Sequence[Point]
) -> DrawnSurface:
    """The surface through two elements (equal ones: a line), or along the path if None.

    Computed anew when the path leaves it or, where other parameters move too, when the number of
    steps has doubled. Raises ProgramRefused.
    """
    name = f"{workspace.view.seed} {pair}"
    cached: DrawnSurface | None = workspace.cache.get(_KEY)
    if cached is not None and cached.name == name and not _is_stale(cached, points):
        return cached
    plane = _plane(pair, points)
    path = plane.place([*points, *_corners(plane, points[0])] if plane.exact else points)
    with workspace.lock:
        if workspace.chosen.key == OWN:
            surface, image = _compute(workspace.session, plane, path)
        else:
            surface, image = _share(
                _cache_key(workspace, plane, path), workspace.session, plane, path
            )
    drawn = workspace.cache[_KEY] = DrawnSurface(name, plane, surface, image, points[-1].steps)
    return drawn


def _cache_key(workspace: Workspace, plane: Plane, path: np.ndarray) -> str:
    """A name for everything that a preset's surface depends on."""
    parts = (workspace.chosen.name, workspace.session.seed, plane.labels, plane.exact, path.shape)
    name = hashlib.sha256(repr(parts).encode())
    for array in (plane.origin, plane.first, plane.second, path):
        name.update(array.tobytes())
    return name.hexdigest()


def _compute(session: Session, plane: Plane, path: np.ndarray) -> tuple[Surface, str]:
    surface = session.surface(plane, path)
    return surface, _draw_contours(surface)


@st.cache_resource(max_entries=128, show_spinner=False)
def _share(name: str, _session: Session, _plane: Plane, _path: np.ndarray) -> tuple[Surface, str]:
    """Immutable, so all readers may share one; a second reader waits while it is computed."""
    return _compute(_session, _plane, _path)


def _plane(pair: AxisPair | None, points: Sequence[Point]) -> Plane:
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
    """Opposite corners of the first picture, symmetric around 0."""
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


def _is_stale(drawn: DrawnSurface, points: Sequence[Point]) -> bool:
    x, y = drawn.surface.x, drawn.surface.y
    a, b = drawn.place(points[-1:])[0]
    if not np.isfinite([a, b]).all() or max(abs(a), abs(b)) > 1e6:
        return False  # so far away there is nothing to see
    if not x[0] <= a <= x[-1] or (len(y) > 1 and not y[0] <= b <= y[-1]):
        return True
    others = drawn.plane.origin.any() or not drawn.plane.exact
    return bool(others) and points[-1].steps >= max(2, 2 * drawn.steps)


def _draw_contours(surface: Surface) -> str:
    """Filled contours, without axes, as a data URL; empty for a line."""
    if len(surface.y) == 1:
        return ""
    loss = np.where(np.isfinite(surface.loss), surface.loss, np.nan)
    low = float(np.nanmin(loss)) if np.isfinite(loss).any() else 0.0
    height = np.log10(np.clip(loss - low, 0, 1e30) + _floor(loss - low))
    figure = Figure(figsize=(4, 3), dpi=90, frameon=False)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    known = height[np.isfinite(height)]
    if len(known) and known.max() > known.min():
        axes.contourf(surface.x, surface.y, height, levels=16, cmap="GnBu_r", extend="both")
        axes.contour(surface.x, surface.y, height, levels=16, colors=CONTOUR, linewidths=0.3)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def _floor(above: np.ndarray) -> float:
    """Keeps the logarithm finite at the lowest place: a hundredth of the typical height."""
    typical = float(np.nanmedian(above)) if np.isfinite(above).any() else 0.0
    return max(typical * 0.01, 1e-30)
