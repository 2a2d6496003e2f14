"""The loss over a plane through the space of parameters, and the path of a run on it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from explorer.training.formatting import element_name
from explorer.training.problem import Live, Problem, random_stream
from explorer.training.views import Point

#: An element of a parameter: its name and index.
Element = tuple[str, tuple[int, ...]]


#: Most numbers the principal directions are computed from; of longer paths every k-th point.
MOST_NUMBERS = 4_000_000
#: Processor time a session's surface may take; its grid becomes coarser, down to `COARSEST` a side.
SURFACE_SECONDS = 0.4
COARSEST = 9


@dataclass(frozen=True)
class Plane:
    """A point and two directions in the space of all parameters, flattened and joined in order.

    `exact` says that the directions are two elements; a path then lies in the plane as long as
    the other parameters do not change. Otherwise they are unit vectors and the path is projected.
    """

    origin: np.ndarray
    first: np.ndarray
    second: np.ndarray
    labels: tuple[str, str]
    exact: bool

    def place(self, points: Sequence[Point]) -> np.ndarray:
        """Coordinates of these points in the plane, (n, 2)."""
        both = np.stack([self.first, self.second])
        moved = (_joined(point.values) - self.origin for point in points)
        # Not "@": threads of the linear algebra library would wait for each other.
        return np.array([np.einsum("ij,j", both, row) for row in moved])


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


def through_elements(point: Point, first: Element, second: Element) -> Plane:
    """The plane of two elements; the others stay as they are at `point`.

    Coordinates are the elements' own values. KeyError or IndexError for what does not exist.
    """
    along, across = _unit(point, *first), _unit(point, *second)
    origin = np.where(along + across != 0, 0.0, _joined(point.values))
    return Plane(origin, along, across, (element_name(*first), element_name(*second)), exact=True)


def through_element(point: Point, at: Element) -> Plane:
    """The line of one element, a plane without a second direction."""
    along = _unit(point, *at)
    origin = np.where(along != 0, 0.0, _joined(point.values))
    return Plane(origin, along, np.zeros_like(along), (element_name(*at), ""), exact=True)


def through_path(points: Sequence[Point], seed: int = 0) -> Plane:
    """The plane that holds most of the path, through its last point.

    The directions are the first two principal components of the path (Li et al. 2018,
    "Visualizing the Loss Landscape of Neural Nets", https://arxiv.org/abs/1712.09913); where the
    path has fewer, they are random and at right angles to the others.
    """
    most = max(3, MOST_NUMBERS // max(1, len(_joined(points[-1].values))))
    chosen = points[:: -(-len(points) // most)]
    rows = np.stack([_joined(point.values) for point in (*chosen, points[-1])])
    origin = rows[-1]
    finite = rows[np.isfinite(rows).all(1)] - origin
    generator = np.random.default_rng(seed)
    _, strengths, components = np.linalg.svd(finite, full_matrices=False)
    directions = list(components[:2][strengths[:2] > 1e-12 * (1 + np.abs(origin).max())])
    names = ["1st principal direction", "2nd principal direction"][: len(directions)]
    while len(directions) < 2:
        random = generator.standard_normal(len(origin))
        for other in directions:
            random -= (random @ other) * other
        length = float(np.linalg.norm(random))
        directions.append(random / length if length > 1e-12 else np.zeros(len(origin)))
        names.append("random direction")
    return Plane(origin, directions[0], directions[1], (names[0], names[1]), exact=False)


def loss_surface(
    problem: Problem,
    plane: Plane,
    points: Sequence[Point],
    *,
    seed: int = 0,
    size: int = 41,
    margin: float = 0.35,
    seconds: float | None = None,
) -> Surface:
    """The loss on a size × size grid around the path; the session's own numbers are not touched.

    `seconds` of processor time make the grid coarser where computing the loss takes long. A plane
    without a second direction gives one row. A loss that draws random numbers draws the same ones
    at every place. Raises `ProgramRefused` when a program's setup does.
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
    size: int = 41,
    margin: float = 0.35,
    seconds: float | None = None,
) -> Surface:
    """`loss_surface` around coordinates in the plane, (n, 2)."""
    live = problem.build(seed)
    flat = not plane.second.any()
    if seconds is not None and not flat:
        size = _affordable(live, plane, size, seconds)
    x = _axis(path[:, 0], size, margin)
    y = np.zeros(1) if flat else _axis(path[:, 1], size, margin)
    loss = np.empty((len(y), len(x)))
    for row, b in enumerate(y):
        for column, a in enumerate(x):
            loss[row, column] = _loss_at(live, plane.origin + a * plane.first + b * plane.second)
    for array in (x, y, loss, path):
        array.setflags(write=False)
    return Surface(x, y, loss, path, plane.labels, plane.exact)


def _affordable(live: Live, plane: Plane, size: int, seconds: float) -> int:
    """The points per side that can be computed in this time, at most `size`. Time of this thread,
    so that a busy machine does not make a picture coarser."""
    _loss_at(live, plane.origin)  # the first is slower
    start = time.thread_time()
    _loss_at(live, plane.origin)
    taken = max(time.thread_time() - start, 1e-6)
    return max(COARSEST, min(size, math.isqrt(int(seconds / taken))))


def _loss_at(live: Live, joined: np.ndarray) -> float:
    start = 0
    for parameter in live.parameters.values():
        end = start + parameter.numel()
        values = torch.from_numpy(joined[start:end])
        parameter.data.copy_(values.view(parameter.shape))
        start = end
    try:
        with random_stream(live.random), torch.enable_grad():
            return live.loss().item()
    except Exception:  # a reader's loss may refuse some places
        return float("nan")


def _joined(values: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.concatenate([value.astype(np.float64).ravel() for value in values.values()])


def _unit(point: Point, name: str, index: tuple[int, ...]) -> np.ndarray:
    """1 at this element, 0 elsewhere."""
    marks = {key: np.zeros(value.shape) for key, value in point.values.items()}
    marks[name][index] = 1.0
    return _joined(marks)


def _axis(along: np.ndarray, size: int, margin: float) -> np.ndarray:
    """From below the path's lowest to above its highest coordinate."""
    finite = along[np.isfinite(along)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    reach = max(high - low, 0.1 * max(abs(low), abs(high)), 1e-3)
    return np.linspace(low - margin * reach, high + margin * reach, size)
