"""A chart drawn by the browser: lines, dots and a marker over an optional picture.

Only numbers are sent, so a press or a frame of playback changes little. Names are shown as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

_FOLDER = Path(__file__).parent
_component = st.components.v2.component(
    "plot",
    html='<figure><svg xmlns="http://www.w3.org/2000/svg"></svg>'
    '<button title="Download as SVG" aria-label="Download as SVG">↓</button></figure>',
    css=(_FOLDER / "plot.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "plot.js").read_text(encoding="utf-8"),
)

#: Most points of a line; of longer ones every k-th and the last.
MOST = 600


@dataclass(frozen=True)
class Axis:
    label: str
    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Line:
    """Numbers along both axes. `kind` is its colour: "main", "beside", "first", "second" or
    "faint". With `dots` it has a dot at each point; without `line` it is dots only."""

    x: Any
    y: Any
    kind: str = "main"
    name: str = ""
    dots: bool = False
    line: bool = True


@dataclass(frozen=True)
class Plot:
    """`image` is a data URL that fills the axes; `now` is the position of the marker."""

    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    alt: str
    image: str = ""
    now: tuple[float, float] | None = None
    legend: tuple[tuple[str, str], ...] = field(default=())


def plot(shown: Plot, *, key: str, height: int) -> None:
    """Draw it, as wide as its container."""
    data = vars(shown) | {"x": vars(shown.x), "y": vars(shown.y)}
    data["lines"] = [_plain(line) for line in shown.lines]
    if shown.now is not None and not np.isfinite(shown.now).all():
        data["now"] = None
    _component(key=key, data={**data, "height": height, "file": f"{key}.svg"})


def _plain(line: Line) -> dict[str, Any]:
    x, y = (np.asarray(values, dtype=float) for values in (line.x, line.y))
    if len(x) > MOST:
        shown = np.append(np.arange(0, len(x) - 1, -(-len(x) // MOST)), len(x) - 1)
        x, y = x[shown], y[shown]
    return vars(line) | {"x": _numbers(x), "y": _numbers(y)}


def _numbers(values: np.ndarray) -> list[float | None]:
    """What is not finite becomes a gap."""
    return [float(f"{v:.10g}") if np.isfinite(v) else None for v in values.tolist()]


def around(values: Sequence[float], label: str, *, linear: bool = False) -> Axis:
    """An axis that holds these values, logarithmic where they span more than three decades above
    0 (a 0 among them is then a gap), unless `linear`."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not len(known):
        return Axis(label, 0.0, 1.0)
    low, high = float(known.min()), float(known.max())
    if not linear and low >= 0 and (above := known[known > 0]).size:
        least = float(above.min())
        if high > 1000 * least:
            return Axis(label, least, high, True)
    room = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return Axis(label, low - room, high + room)
