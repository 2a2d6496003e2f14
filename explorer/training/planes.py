"""Planes through the space of all parameters: where they lie, and what is where in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from explorer import limits
from explorer.training.formatting import element_name
from explorer.training.views import Point

#: An element of a parameter: its name and index.
Element = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class Plane:
    """A point and two directions in the space of all parameters, flattened and joined in order.

    `exact` says that the directions are two elements; a path then lies in the plane as long as
    the other parameters do not change. Otherwise the path is projected. `explanation` says in a
    sentence what the plane is. A picture of it is linear in each direction up to about its number
    in `linear_widths` from 0, and logarithmic beyond; throughout linear where that is 0.
    """

    origin: np.ndarray
    first: np.ndarray
    second: np.ndarray
    labels: tuple[str, str]
    exact: bool
    explanation: str = ""
    linear_widths: tuple[float, float] = (0.0, 0.0)

    def place(self, points: Sequence[Point]) -> np.ndarray:
        """Coordinates of these points in the plane, (n, 2)."""
        # A few at a time: a path may hold more numbers than fit in memory twice.
        few = max(1, limits.MOST_PATH_NUMBERS // max(1, len(self.origin)) // 8)
        rows = (
            np.stack([_joined(point.values) for point in points[i : i + few]])
            for i in range(0, len(points), few)
        )
        return np.concatenate([self.coordinates(part) for part in rows])

    def coordinates(self, rows: np.ndarray) -> np.ndarray:
        """Coordinates of points given as rows of all numbers, (n, 2): those of the nearest points
        in the plane."""
        return self._along(rows - self.origin)

    def arrow(self, change: Mapping[str, np.ndarray], like: Point) -> np.ndarray:
        """What a change of the parameters, such as an update, is in the plane, (2,); those that are
        not named do not change."""
        zeros = {name: np.zeros(value.shape) for name, value in like.values.items()}
        return self._along(_joined({**zeros, **change})[None])[0]

    def point(self, coordinates: Sequence[float], like: Point) -> dict[str, np.ndarray]:
        """The parameters at these coordinates. What lies outside of the plane stays as it is at
        `like`: the point moves along the plane's directions."""
        joined = _joined(like.values)
        by = np.asarray(coordinates, dtype=np.float64) - self.coordinates(joined[None])[0]
        if self.exact:  # an element becomes its coordinate, without a rounding error
            joined = np.where(self.first != 0, coordinates[0], joined)
            joined = np.where(self.second != 0, coordinates[1], joined)
        else:
            joined = joined + by[0] * self.first + by[1] * self.second
        return split(joined, like)

    def _along(self, rows: np.ndarray) -> np.ndarray:
        """What these differences are in the two directions."""
        # Not "@": threads of the linear algebra library would wait for each other.
        products = np.einsum("nj,ij->ni", rows, np.stack([self.first, self.second]))
        return products if self.exact else np.einsum("nj,ij->ni", products, self._inverse)

    @cached_property
    def _inverse(self) -> np.ndarray:
        """Undoes that the directions are neither of length 1 nor at right angles."""
        both = np.stack([self.first, self.second])
        return np.linalg.pinv(np.einsum("ij,kj->ik", both, both), hermitian=True)


def through_elements(point: Point, first: Element, second: Element) -> Plane:
    """The plane of two elements; the others stay as they are at `point`.

    Coordinates are the elements' own values. KeyError or IndexError for what does not exist.
    """
    along, across = _unit(point, *first), _unit(point, *second)
    origin = np.where(along + across != 0, 0.0, _joined(point.values))
    names = element_name(*first), element_name(*second)
    return Plane(origin, along, across, names, True, _explain_others(origin, *names))


def through_element(point: Point, at: Element) -> Plane:
    """The line of one element, a plane without a second direction."""
    along = _unit(point, *at)
    origin = np.where(along != 0, 0.0, _joined(point.values))
    name = element_name(*at)
    return Plane(
        origin, along, np.zeros_like(along), (name, ""), True, _explain_others(origin, name)
    )


def _explain_others(origin: np.ndarray, *names: str) -> str:
    """What the elements outside of the plane do, where there are any."""
    chosen = " and ".join(names)
    if len(origin) == len(names):
        return f"The loss depends on {chosen} alone."
    verb = "changes" if len(names) == 1 else "change"
    return f"Only {chosen} {verb}."


def through_path(points: Sequence[Point], seed: int = 0) -> Plane:
    """The plane that holds most of the path, through its last point.

    The directions are the first two principal components of the path (Li et al. 2018,
    "Visualizing the Loss Landscape of Neural Nets", https://arxiv.org/abs/1712.09913); where the
    path has fewer, they are random and at right angles to the others.
    """
    most = max(3, limits.MOST_PATH_NUMBERS // max(1, len(_joined(points[-1].values))))
    chosen = points[:: -(-len(points) // most)]
    rows = np.stack([_joined(point.values) for point in (*chosen, points[-1])])
    origin = rows[-1]
    finite = rows[np.isfinite(rows).all(1)] - origin
    _, strengths, components = np.linalg.svd(finite, full_matrices=False)
    directions = list(components[:2][strengths[:2] > 1e-12 * (1 + np.abs(origin).max())])
    names = ["1st principal direction", "2nd principal direction"][: len(directions)]
    explanation = "The directions in which the path moves most, its principal components."
    if len(directions) < 2:
        explanation = "Where the path has no direction of its own, a random one is used."
    return _complete(origin, directions, names, explanation, seed)


def through_random(point: Point, seed: int = 0) -> Plane:
    """The plane of two random directions through a point, another for each `seed`.

    They are normalised filter by filter: each row of a parameter with two axes or more, and each
    other parameter, moves in proportion to its own size (Li et al. 2018, section 4,
    https://arxiv.org/abs/1712.09913; biases, which they keep, move here too).
    """
    generator = np.random.default_rng(seed)
    directions = []
    for _ in range(2):
        parts = {}
        for name, value in point.values.items():
            rows = value.astype(np.float64).reshape(len(value) if value.ndim > 1 else 1, -1)
            random = generator.standard_normal(rows.shape)
            lengths = np.linalg.norm(random, axis=1, keepdims=True)
            parts[name] = random / lengths * np.linalg.norm(rows, axis=1, keepdims=True)
        direction = _joined(parts)
        if direction.any() and np.isfinite(direction).all():
            directions.append(direction)
    names = ["1st random direction", "2nd random direction"][: len(directions)]
    explanation = "Two random directions; each filter moves in proportion to its own size."
    return _complete(_joined(point.values), directions, names, explanation, seed)


def through_gradient(
    point: Point,
    gradient: Mapping[str, np.ndarray],
    update: Mapping[str, np.ndarray],
    seed: int = 0,
) -> Plane:
    """The plane of the negative gradient and of what the update does besides, through a point."""
    origin, zeros = _joined(point.values), {n: np.zeros(v.shape) for n, v in point.values.items()}
    directions: list[np.ndarray] = []
    names: list[str] = []
    for change, name in (
        (-_joined({**zeros, **gradient}), "against the gradient"),
        (_joined({**zeros, **update}), "the update's other part"),
    ):
        rest = change - sum(
            ((change @ other) * other for other in directions), np.zeros(len(origin))
        )
        length = float(np.linalg.norm(rest))
        # An update is known to the parameters' precision only.
        if length > 1e-3 * float(np.linalg.norm(change)) and np.isfinite(length):
            directions.append(rest / length)
            names.append(name)
    explanation = "Against the gradient, and what is left of the update at right angles to it."
    return _complete(origin, directions, names, explanation, seed)


def _complete(
    origin: np.ndarray, directions: list[np.ndarray], names: list[str], explanation: str, seed: int
) -> Plane:
    """The plane of these directions; those that are missing are random ones at right angles."""
    generator = np.random.default_rng(seed)
    while len(directions) < 2:
        random = generator.standard_normal(len(origin))
        for other in directions:
            random -= (random @ other) / (other @ other) * other
        length = float(np.linalg.norm(random))
        directions.append(random / length if length > 1e-12 else np.zeros(len(origin)))
        names.append("random direction")
    return Plane(origin, directions[0], directions[1], (names[0], names[1]), False, explanation)


def split(joined: np.ndarray, like: Point) -> dict[str, np.ndarray]:
    """The reverse of joining: parameters by name, with shapes and types as at `like`."""
    parts, start = {}, 0
    for name, value in like.values.items():
        part = joined[start : start + value.size]
        parts[name] = part.reshape(value.shape).astype(value.dtype)
        start += value.size
    return parts


def _joined(values: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.concatenate([value.astype(np.float64).ravel() for value in values.values()])


def _unit(point: Point, name: str, index: tuple[int, ...]) -> np.ndarray:
    """1 at this element, 0 elsewhere."""
    marks = {key: np.zeros(value.shape) for key, value in point.values.items()}
    marks[name][index] = 1.0
    return _joined(marks)
