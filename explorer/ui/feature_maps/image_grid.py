"""Images in a row that wraps, each with a label; the reader can click a position in one."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from explorer.trace.text import digest
from explorer.ui.widgets.basics import while_drawn
from explorer.view.component import SHARED
from explorer.vision.drawing import to_png

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "picture_frames",
    html='<div class="frames"></div>',
    css=(_HERE / "image_grid.css").read_text(encoding="utf-8"),
    js=SHARED + (_HERE / "image_grid.js").read_text(encoding="utf-8"),
)

#: A part of an image as fractions of its width and height: left, top, width, height.
Part = tuple[float, float, float, float]


@dataclass(frozen=True)
class GridImage:
    """An image (`png`) drawn `width` CSS pixels wide, or as wide as its container if that is less.

    `alt` describes it for screen readers; `marks` are outlined; `smooth` is for photographs, whose
    pixels should not look like squares.
    """

    id: str
    png: bytes
    alt: str
    width: int
    label: str = ""
    title: str = ""
    marks: tuple[Part, ...] = ()
    selected: bool = False
    smooth: bool = False


#: Called with an image's id and the position in it, as fractions of its width and height.
OnChoose = Callable[[str, float, float], None]


def draw_image_grid(
    shown: Sequence[GridImage],
    *,
    key: str,
    on_choose: OnChoose | None = None,
    arrows: bool = False,
    film: bool = False,
) -> None:
    """Draw the images, with `arrows` between them if one leads to the next. A `film` is one row
    over the whole width, which scrolls sideways if it must."""
    pictures = [
        {
            "id": frame.id,
            "src": "data:image/png;base64," + b64encode(frame.png).decode(),
            "alt": frame.alt,
            "width": frame.width,
            "label": frame.label,
            "title": frame.title,
            "smooth": frame.smooth,
        }
        for frame in shown
    ]

    def report_click() -> None:
        click = read_click(st.session_state[key].clicked, {frame.id for frame in shown})
        if on_choose and click:
            on_choose(*click)

    _component(
        key=key,
        data={
            "pictures": pictures,
            "digest": digest(repr(pictures)),
            "marks": {frame.id: frame.marks for frame in shown if frame.marks},
            "selected": [frame.id for frame in shown if frame.selected],
            "choose": on_choose is not None,
            "arrows": arrows,
            "film": film,
        },
        on_clicked_change=while_drawn(key, report_click),
    )


def draw_images(
    images: list[tuple[str, np.ndarray]], *, width: int, key: str, arrows: bool = True
) -> None:
    """Draw images (height × width × 3) with their labels in a row."""
    draw_image_grid(
        [
            GridImage(f"{key}-{i}", to_png(rgb), title, width, title, smooth=rgb.shape[1] > width)
            for i, (title, rgb) in enumerate(images)
        ],
        key=key,
        arrows=arrows,
    )


def read_click(clicked: Any, ids: Collection[str]) -> tuple[str, float, float] | None:
    """The image and the place in it that a browser sent, from 0 to 1, if there is such an image."""
    if not isinstance(clicked, dict):
        return None
    name, x, y = (clicked.get(key) for key in ("id", "x", "y"))
    if not isinstance(name, str) or name not in ids:
        return None
    if not (isinstance(x, int | float) and isinstance(y, int | float)):
        return None
    if not (abs(x) < 2 and abs(y) < 2):
        return None
    return name, min(max(float(x), 0.0), 1.0), min(max(float(y), 0.0), 1.0)
