"""Image, crop, and what the network got: one picture of the way in."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st
from PIL import Image

from explorer.ui.common.widgets import download
from explorer.ui.feature_maps.image_grid import Frame, frames
from explorer.ui.feature_maps.results import ModelInput
from explorer.vision.pictures import outlined, side_by_side, to_png

#: CSS pixels: all three pictures together, and the sides of the square ones.
_TOGETHER, _MOST, _LEAST = 396, 132, 100


def way_in(model_input: ModelInput) -> None:
    """The image with the crop's frame, the crop, and the network's input."""
    rgb, box = model_input.chosen.picture.rgb, model_input.prepared.box
    height, width = rgb.shape[:2]
    left, top, right, bottom = box
    part = (left / width, top / height, (right - left) / width, (bottom - top) / height)
    crop, seen = _crop(rgb, box), model_input.prepared.seen
    side, first = _sides(width / height)
    frames(
        [
            Frame(
                "image",
                _small(rgb, 2 * first),
                f"{model_input.chosen.name}, with the frame of the crop",
                first,
                label=f"Image, {width} × {height}",
                marks=(part,),
                smooth=True,
            ),
            Frame(
                "crop",
                _small(crop, 2 * side),
                "The part that was cut out",
                side,
                label=f"Crop, {crop.shape[1]} × {crop.shape[0]}",
                smooth=True,
            ),
            Frame(
                "seen",
                to_png(seen),
                f"What {model_input.loaded.backbone.title} got",
                side,
                label=f"Network, {seen.shape[1]} × {seen.shape[0]}",
                smooth=seen.shape[1] > side,
            ),
        ],
        key="way-in",
        arrows=True,
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            '<div class="ax-note" title="Networks are trained on pictures prepared like this: '
            "squashed to a square, or in OpenCV's order of colours, they see something else.\">"
            "Cut out, not squashed; RGB, not OpenCV's BGR.</div>",
            width="stretch",
        )
        download(
            partial(_together, rgb, box, seen),
            "picture.png",
            "The three pictures as PNG",
            key="way-in",
        )


def _sides(aspect: float) -> tuple[int, int]:
    """Widths of the square pictures and of the first, whose height is theirs unless it is very
    wide."""
    side = min(_MOST, _TOGETHER / (aspect + 2))
    if side < _LEAST:
        side, first = float(_LEAST), float(_TOGETHER - 2 * _LEAST)
    else:
        first = side * aspect
    return int(side), max(8, int(first))


def _crop(rgb: np.ndarray, box: tuple[float, float, float, float]) -> np.ndarray:
    left, top, right, bottom = (max(0, round(n)) for n in box)
    return rgb[top : max(bottom, top + 1), left : max(right, left + 1)]


def _small(rgb: np.ndarray, width: int) -> bytes:
    """At most `width` pixels wide: the screen shows no more."""
    if rgb.shape[1] <= width:
        return to_png(rgb)
    height = max(1, round(rgb.shape[0] * width / rgb.shape[1]))
    image = Image.fromarray(rgb).resize((width, height), Image.Resampling.BILINEAR)
    return to_png(np.array(image))


def _together(rgb: np.ndarray, box: tuple[float, ...], seen: np.ndarray) -> bytes:
    left, top, right, bottom = box
    frame = left, top, right, bottom
    return to_png(side_by_side([outlined(rgb, frame), _crop(rgb, frame), seen]))
