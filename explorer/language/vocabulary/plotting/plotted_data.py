"""The data of plotting calls: how many lines they make, histograms, limits, and fewer points where
a picture cannot show them all."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.plotting.plain_values import plain, plain_sets

#: Most points of a line and of a scatter plot, most pixels along one side of an image, most bins,
#: and most values of a histogram that are kept themselves.
MOST_LINE, MOST_POINTS, MOST_PIXELS, MOST_BINS, MOST_VALUES = 20_000, 20_000, 1024, 10_000, 5000
#: Elements of an image: larger ones are kept with fewer pixels.
_MOST_IMAGE = 2**18


def line_groups(args: tuple[Any, ...]) -> list[tuple[Any, Any, Any]]:
    """The (x, y, format) of the arguments of `plot`; x and format may be None."""
    groups, rest = [], list(args)
    while rest:
        first, rest = rest[0], rest[1:]
        x, y = None, first
        if rest and not isinstance(rest[0], str):
            x, y, rest = first, rest[0], rest[1:]
        form = None
        if rest and isinstance(rest[0], str):
            form, rest = rest[0], rest[1:]
        groups.append((x, y, form))
    return groups


def as_column(value: Any) -> np.ndarray:
    """The value as matplotlib reads it for a line: one or two dimensions."""
    array = np.atleast_1d(np.asarray(value))
    if array.ndim > 2:
        raise ValueError("x and y can be no greater than 2D")
    return array


def check_same_length(x: Any, y: Any) -> None:
    if x is not None and len(as_column(x)) != len(as_column(y)):
        raise ValueError(
            "x and y must have same first dimension, but have shapes "
            f"{as_column(x).shape} and {as_column(y).shape}"
        )


def thin_line(x: Any, y: Any) -> tuple[Any, Any]:
    """The line with at most `MOST_LINE` points: the least and the largest of each part."""
    values = np.asarray(y)
    if values.ndim != 1 or len(values) <= MOST_LINE or values.dtype.kind not in "biuf":
        return x, y
    notice("Of very long lines, the least and the largest values of each part are drawn.")
    part = -(-len(values) * 2 // MOST_LINE)
    whole = len(values) // part * part
    blocks = np.nan_to_num(values[:whole].astype(float)).reshape(-1, part)
    starts = np.arange(0, whole, part)
    kept = np.unique(
        np.concatenate([starts + blocks.argmin(1), starts + blocks.argmax(1), [0, len(values) - 1]])
    )
    return (kept if x is None else np.asarray(x)[kept]), values[kept]


def thin_points(size: int, values: list[Any]) -> list[Any]:
    """Arrays of so many points, and other values, with at most `MOST_POINTS` points."""
    if size <= MOST_POINTS:
        return values
    notice(f"Of more than {MOST_POINTS:,} points, evenly chosen ones are drawn.")
    step = -(-size // MOST_POINTS)
    return [
        np.asarray(value).reshape(size, -1)[::step].squeeze()
        if isinstance(value, np.ndarray) and len(value) == size
        else np.ravel(value)[::step]
        if isinstance(value, np.ndarray) and value.size == size
        else value
        for value in values
    ]


def image_of(value: Any) -> tuple[np.ndarray, tuple[int, int]]:
    """An image of numbers or colours, with fewer pixels if it is large, and its size as given.

    Raises TypeError as matplotlib does.
    """
    array = np.asarray(value)
    if array.ndim == 3 and array.shape[-1] == 1:
        array = array[..., 0]
    if array.dtype.kind not in "biuf":
        raise TypeError("Image data of dtype object cannot be converted to float")
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[-1] not in (3, 4)):
        raise TypeError(f"Invalid shape {np.shape(value)} for image data")
    size = int(array.shape[0]), int(array.shape[1])
    step = 1
    while max(size) // step > MOST_PIXELS or array.size // step**2 > _MOST_IMAGE:
        step += 1
    if step > 1:
        notice("Large images are drawn with fewer pixels.")
        array = array[::step, ::step]
    if array.ndim == 3 and array.dtype.kind == "f":
        clipped = np.nan_to_num(array.astype(np.float64)).clip(0, 1)
        array = np.round(clipped * 255).astype(np.uint8)
    elif array.ndim == 3:
        array = array.clip(0, 255).astype(np.uint8)
    return np.ascontiguousarray(array), size


def datasets(value: Any) -> list[np.ndarray]:
    """The data sets of a histogram: one, the columns of a matrix, or the arrays of a list."""
    converted = plain_sets(value)
    if isinstance(converted, list):
        return [np.asarray(part, dtype=float).ravel() for part in converted]
    array = np.asarray(converted, dtype=float)
    return [array.ravel()] if array.ndim < 2 else [np.ravel(column) for column in array.T]


def histogram(
    value: Any, bins: Any, limits: Any, weights: Any, density: bool, cumulative: Any, stacked: bool
) -> tuple[list[np.ndarray], np.ndarray, list[np.ndarray]]:
    """(heights of each data set, edges, data sets), as `Axes.hist` computes them."""
    sets = datasets(value)
    edges: Any = 10 if bins is None else plain(bins)
    if isinstance(edges, int) and not 0 < edges <= MOST_BINS:
        raise OutsideLanguage(f"A histogram has 1 to {MOST_BINS:,} bins.")
    span = None if limits is None else tuple(np.asarray(plain(limits), dtype=float).tolist())
    finite = [data[~np.isnan(data)] for data in sets]
    if not isinstance(edges, np.ndarray):
        together = np.concatenate(finite) if finite else np.empty(0)
        if span is None and together.size:
            span = (float(together.min()), float(together.max()))
        edges = np.histogram_bin_edges(together, edges, span)
    if len(edges) > MOST_BINS + 1:
        raise OutsideLanguage(f"A histogram has 1 to {MOST_BINS:,} bins.")
    counts = []
    given = None if weights is None else datasets(weights)
    for index, data in enumerate(finite):
        each = None
        if given is not None:
            each = given[index][~np.isnan(sets[index])]
        counts.append(np.histogram(data, edges, weights=each)[0].astype(float))
    if stacked and len(counts) > 1:
        counts = list(np.cumsum(counts, axis=0))
    widths = np.diff(edges)
    if density:
        total = counts[-1].sum() if stacked else None
        counts = [c / widths / (c.sum() if total is None else total) for c in counts]
    if cumulative:
        step = -1 if isinstance(cumulative, int | float) and cumulative < 0 else 1
        factor = widths if density else 1.0
        counts = [(c * factor)[::step].cumsum()[::step] for c in counts]
    return counts, np.asarray(edges, dtype=float), sets


class Limits:
    """The data limits of a panel along one axis, as far as its calls tell."""

    def __init__(self) -> None:
        self.low, self.high = np.inf, -np.inf
        self.chosen: tuple[float, float] | None = None
        self.exact = False
        self.from_zero = False

    def add(self, values: Any, *, exact: bool = False, from_zero: bool = False) -> None:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            array = np.arange(array.size)
        finite = array[np.isfinite(array)]
        if finite.size:
            self.low, self.high = (
                min(self.low, float(finite.min())), max(self.high, float(finite.max()))
            )  # fmt: skip
        self.exact, self.from_zero = self.exact or exact, self.from_zero or from_zero

    def current(self) -> tuple[float, float]:
        """The ends of the axis: those that were chosen, or the data with matplotlib's margins."""
        if self.chosen is not None:
            return self.chosen
        if self.low > self.high:
            return 0.0, 1.0
        if self.exact:
            return self.low, self.high
        low, high = self.low, self.high
        if low == high:
            low, high = low - (abs(low) * 0.05 or 0.05), high + (abs(high) * 0.05 or 0.05)
            return low, high
        room = 0.05 * (high - low)
        at_zero = self.from_zero and low == 0
        return (low if at_zero else low - room), high + room
