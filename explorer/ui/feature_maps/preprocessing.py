"""Preprocessing: the image, its crop, and the network's input."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st
from PIL import Image

from explorer import limits
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.image_grid import GridImage, Part, draw_image_grid
from explorer.ui.feature_maps.results import ModelInput, by_input
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.basics import download, menu, note
from explorer.vision.drawing import draw_box, side_by_side, to_png

#: CSS pixels: all three images together, and the sides of the square ones.
_TOGETHER, _MOST, _LEAST = 396, 132, 100
#: The height of the two images on the first screen.
_THUMBNAIL = 62


def draw_thumbnails(model_input: ModelInput) -> None:
    """Draw the image with the crop's frame, and the network's input."""
    rgb, prepared = model_input.chosen.image.rgb, model_input.prepared.rgb
    height, width = rgb.shape[:2]
    first = max(6, int(_THUMBNAIL * min(width / height, 1.8)))
    size = f"{width} × {height}"
    draw_image_grid(
        [
            GridImage(
                "image",
                _pngs(model_input, first, _THUMBNAIL)[0],
                f"{model_input.chosen.name}, {size} pixels, with the frame of the crop",
                first,
                title=f"Image, {size}; the frame is the crop\n{model_input.chosen.credit}".rstrip(),
                marks=(_part(model_input),),
                smooth=True,
            ),
            GridImage(
                "seen",
                results.input_png(model_input),
                f"The input of {model_input.loaded.backbone.title}",
                _THUMBNAIL,
                title=f"Network input, {prepared.shape[1]} × {prepared.shape[0]}",
                smooth=prepared.shape[1] > _THUMBNAIL,
            ),
        ],
        key="way-in",
        arrows=True,
    )


def draw_preprocessing_menu(model_input: ModelInput) -> None:
    """Draw the button that opens the three images of the preprocessing."""
    place = menu(
        "Preprocessing",
        icon="crop",
        key="preprocessing",
        help="How the image becomes the input of the network",
    )
    if place:
        with place:
            _draw_preprocessing(model_input)


def _draw_preprocessing(model_input: ModelInput) -> None:
    """Draw the image with the crop's frame, the crop, and the network's input."""
    rgb, box = model_input.chosen.image.rgb, model_input.prepared.box
    height, width = rgb.shape[:2]
    crop, prepared = _crop(rgb, box), model_input.prepared.rgb
    side, first = _sides(width / height)
    image_png, crop_png = _pngs(model_input, first, side)
    draw_image_grid(
        [
            GridImage(
                "image",
                image_png,
                f"{model_input.chosen.name}, with the frame of the crop",
                first,
                label=f"Image, {width} × {height}",
                marks=(_part(model_input),),
                smooth=True,
            ),
            GridImage(
                "crop",
                crop_png,
                "The crop",
                side,
                label=f"Crop, {crop.shape[1]} × {crop.shape[0]}",
                smooth=True,
            ),
            GridImage(
                "seen",
                results.input_png(model_input),
                f"The input of {model_input.loaded.backbone.title}",
                side,
                label=f"Network input, {prepared.shape[1]} × {prepared.shape[0]}",
                smooth=prepared.shape[1] > side,
            ),
        ],
        key="steps",
        arrows=True,
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            '<div class="ax-note" title="The network was trained on images prepared like this. A '
            "stretched image, or OpenCV's BGR order, would give other results.\">"
            "Cropped, not stretched. Channels in RGB order.</div>",
            width="stretch",
        )
        download(
            partial(_together, rgb, box, prepared),
            "image.png",
            "The three images as PNG",
            key="way-in",
        )
    if model_input.chosen.credit:
        note(model_input.chosen.credit)


def _part(model_input: ModelInput) -> Part:
    """The crop as a part of the image."""
    height, width = model_input.chosen.image.rgb.shape[:2]
    left, top, right, bottom = model_input.prepared.box
    return left / width, top / height, (right - left) / width, (bottom - top) / height


def _sides(aspect: float) -> tuple[int, int]:
    """The widths of the square images and of the first, which has the same height unless it is
    very wide."""
    side = min(_MOST, _TOGETHER / (aspect + 2))
    if side < _LEAST:
        side, first = float(_LEAST), float(_TOGETHER - 2 * _LEAST)
    else:
        first = side * aspect
    return int(side), max(8, int(first))


def _crop(rgb: np.ndarray, box: tuple[float, float, float, float]) -> np.ndarray:
    left, top, right, bottom = (max(0, round(n)) for n in box)
    return rgb[top : max(bottom, top + 1), left : max(right, left + 1)]


@shared(limits.KEPT_PICTURES, key=by_input)
def _pngs(model_input: ModelInput, first: int, side: int) -> tuple[bytes, bytes]:
    """The image and the crop, in the sizes in which they are shown."""
    rgb = model_input.chosen.image.rgb
    return _small(rgb, 2 * first), _small(_crop(rgb, model_input.prepared.box), 2 * side)


def _small(rgb: np.ndarray, width: int) -> bytes:
    """A PNG at most `width` pixels wide: the screen shows no more."""
    if rgb.shape[1] <= width:
        return to_png(rgb)
    height = max(1, round(rgb.shape[0] * width / rgb.shape[1]))
    image = Image.fromarray(rgb).resize((width, height), Image.Resampling.BILINEAR)
    return to_png(np.array(image))


def _together(rgb: np.ndarray, box: tuple[float, ...], prepared: np.ndarray) -> bytes:
    left, top, right, bottom = box
    frame = left, top, right, bottom
    return to_png(side_by_side([draw_box(rgb, frame), _crop(rgb, frame), prepared]))
