"""Charts drawn by the browser: lines, dots and a marker over an optional picture.

Only numbers are sent, so a press or a frame of playback changes little. Names are shown as text.
All charts are one element, because each element is a message of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer import limits
from explorer.view.component import load_component

PLOTS = load_component(__file__, '<div class="cells"></div><div class="ax-note moment"></div>')

#: The largest number on an axis: beyond, the length of an axis is infinite.
_LARGEST = 1e300


@dataclass(frozen=True)
class Axis:
    """With `names`, an axis of the positions 0, 1, 2, … that have these names, which are told under
    the pointer; if they are `named`, they also stand at the axis. The ticks of a `whole` one are
    integers. With a `linear_width`, it is linear up to about so far from 0 and logarithmic beyond,
    as the scale "asinh" of matplotlib.
    """

    label: str
    low: float
    high: float
    log: bool = False
    names: tuple[str, ...] = ()
    named: bool = False
    whole: bool = False
    linear_width: float = 0.0

    def shares(self, values: np.ndarray) -> np.ndarray:
        """How far along the axis these numbers are; it is not a `log` one."""
        ends = np.array([self.low, self.high])
        if self.linear_width:
            values, ends = (np.arcsinh(v / self.linear_width) for v in (values, ends))
        shares: np.ndarray = (values - ends[0]) / (ends[1] - ends[0])
        return shares


@dataclass(frozen=True)
class Line:
    """Numbers along both axes. `kind` is its colour: "main", "beside", "first", "second" or
    "faint". With `dots` it has a dot at each point, with `rings` a ring; without `line` only these.
    """

    x: Any
    y: Any
    kind: str = "main"
    name: str = ""
    dots: bool = False
    line: bool = True
    rings: bool = False


@dataclass(frozen=True)
class Place:
    """A place on a plot whose axes are one or two inputs of a program: their names and values, the
    gradient with respect to each, the result, and the `colours` of the names (`leaves.py`). It is
    drawn with the tangent of a curve, or the arrow of the gradient on contours; it follows drags
    (see `drag.py`), and can be dragged."""

    names: tuple[str, ...]
    values: tuple[float, ...]
    grad: tuple[float | None, ...]
    result: float | None
    colours: tuple[int | None, ...] = ()


@dataclass(frozen=True)
class Plot:
    """`image` is a data URL that fills the axes, `now` the position of the marker, `mark` that of a
    vertical line, `caption` a sentence below. With `pointer` the values under the pointer are
    shown. A `wide` one has a row for itself. The caption of one with a `place` is about that."""

    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    alt: str
    image: str = ""
    now: tuple[float, float] | None = None
    caption: str = ""
    mark: float | None = None
    pointer: bool = False
    wide: bool = False
    place: Place | None = None


@dataclass(frozen=True)
class Blank:
    """In the place of a plot: a sentence, or room for another element and its `legend` (markup)."""

    title: str
    sentence: str = ""
    legend: str = ""


def plots_data(cells: Mapping[str, tuple[Plot | Blank, int]]) -> tuple[dict[str, Any], ...]:
    """What the browser gets of charts: by name, each with its height in CSS pixels."""
    return tuple(
        {**_to_data(cell), "name": name, "height": height} for name, (cell, height) in cells.items()
    )


def _to_data(cell: Plot | Blank) -> dict[str, Any]:
    if isinstance(cell, Blank):
        return vars(cell)
    lines = [_plain(line) for line in cell.lines]
    now = cell.now if cell.now is not None and np.isfinite(cell.now).all() else None
    place = vars(cell.place) if cell.place is not None else None
    axes = {"x": vars(cell.x), "y": vars(cell.y)}
    return vars(cell) | axes | {"lines": lines, "now": now, "place": place}


def _plain(line: Line) -> dict[str, Any]:
    """A line; of a long one, every k-th point and the last."""
    x, y = (np.asarray(values, dtype=float) for values in (line.x, line.y))
    if len(x) > limits.LINE_POINTS:
        shown = np.append(np.arange(0, len(x) - 1, -(-len(x) // limits.LINE_POINTS)), len(x) - 1)
        x, y = x[shown], y[shown]
    return vars(line) | {"x": _numbers(x), "y": _numbers(y)}


def _numbers(values: np.ndarray) -> list[float | None]:
    """What is not finite becomes a gap."""
    return [float(f"{v:.10g}") if np.isfinite(v) else None for v in values.tolist()]


def around(values: Sequence[float], label: str, *, linear: bool = False) -> Axis:
    """An axis that holds these values, logarithmic where they span more than three decades above
    0 (a 0 among them is then a gap), unless `linear`."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)].clip(-_LARGEST, _LARGEST)
    if not len(known):
        return Axis(label, 0.0, 1.0)
    low, high = float(known.min()), float(known.max())
    if not linear and low >= 0 and (above := known[known > 0]).size:
        least = float(above.min())
        if high > 1000 * least:
            return Axis(label, least, high, True)
    room = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return Axis(label, low - room, high + room)
