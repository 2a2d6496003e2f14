"""Heat maps side by side, drawn by the browser: the pointer reads one cell of all of them.

With frames, a slider goes through several pictures without asking the server. Only numbers are
sent; maps.js draws.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from explorer.trace.colours import HATCH, NAN, SIGNED, TEXT
from explorer.view.component import SHARED

_HERE = Path(__file__).parent
_COLOURS = "".join(
    f"const {name} = {json.dumps(colour)}\n"
    for name, colour in {"SIGNED": SIGNED, "UNKNOWN": NAN, "HATCH": HATCH, "MARK": TEXT}.items()
)
_component = st.components.v2.component(
    "heat_maps",
    html="""
<label class="moment"><span class="about"></span><input type="range" min="0" step="1">
<output></output></label>
<div class="words"><span class="caption"></span><span class="scale"></span></div>
<div class="maps"></div>""",
    css=(_HERE / "maps.css").read_text(encoding="utf-8"),
    js=SHARED + _COLOURS + (_HERE / "maps.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True, eq=False)
class HeatMap:
    """A matrix, or one for each frame: `values` is (rows, columns) or (frames, rows, columns).

    `rows` and `columns` name them; `axes` say what they are, the second after the
    name of the row. Numbers run from 0 to `most`, or if
    `signed` from −`most`. `masked` (rows, columns) cells are hatched. Maps of one `group` share a
    row of the page, under its name. `grey` draws numbers from 0 to 1 as brightness.
    """

    title: str
    values: np.ndarray
    most: float
    alt: str
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    axes: tuple[str, str] = ("row", ", column")
    signed: bool = False
    masked: np.ndarray | None = None
    group: str = ""
    grey: bool = False


@dataclass(frozen=True)
class Frames:
    """What the slider is called, the name of each frame, and a sentence about each."""

    label: str
    names: Sequence[str]
    captions: Sequence[str] = field(default=())
    start: int = 0


def draw_maps(
    maps: Sequence[HeatMap],
    *,
    key: str,
    caption: str = "",
    frames: Frames | None = None,
    width: int = 220,
) -> None:
    """Draw the maps in rows; each is about `width` CSS pixels wide."""
    _component(
        key=key,
        data={
            "maps": [_to_data(heat_map) for heat_map in maps],
            "caption": caption,
            "frames": vars(frames) if frames else None,
            "width": width,
            "key": key,
        },
    )


def _to_data(heat_map: HeatMap) -> dict[str, Any]:
    values = np.asarray(heat_map.values, dtype="<f4")
    frames = values[None] if values.ndim == 2 else values
    masked = heat_map.masked
    return vars(heat_map) | {
        "values": [base64.b64encode(frame.tobytes()).decode() for frame in frames],
        "shape": frames.shape[1:],
        "masked": None if masked is None or not masked.any() else _bits(masked),
        "most": float(heat_map.most) or 1.0,
        "rows": list(heat_map.rows),
        "columns": list(heat_map.columns),
    }


def _bits(masked: np.ndarray) -> str:
    return base64.b64encode(masked.astype(np.uint8).tobytes()).decode()


def largest(*arrays: np.ndarray | None) -> float:
    """The largest finite absolute value of all."""
    finite = [abs(a[np.isfinite(a)]) for a in arrays if a is not None]
    return max((float(a.max()) for a in finite if a.size), default=0.0)
