"""Draw on images: boxes, heat maps, several in a row, and the whole filmstrip at print size. Images
are height × width × 3, uint8."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from explorer.trace.colours import FRAME, RGB
from explorer.vision.feature_maps import FeatureMaps, describe_size, number_layers
from explorer.vision.tiles import ramp, tile

Box = tuple[float, float, float, float]

_HALO = (255, 255, 255)

#: Of the filmstrip: channels of each layer, how many side by side, and layers in a row.
STRIP_CHANNELS, _COLUMNS, _IN_ROW = 4, 2, 10
#: Its pixels: a channel's side, the space around a layer, and the height of a line of text.
_SIDE, _GAP, _LINE = 112, 16, 18
_PAPER, _INK, _PALE = (255, 255, 255), (28, 36, 48), (91, 102, 117)


def draw_box(rgb: np.ndarray, box: Box, colour: RGB = FRAME) -> np.ndarray:
    """A copy with the outline of `box` (left, top, right, bottom; the last two not included),
    clipped to the image. The line is white outside and coloured inside: visible on any image."""
    height, width = rgb.shape[:2]
    line = max(1, round(max(height, width) / 300))
    left, right = _clip(box[0], box[2], width)
    top, bottom = _clip(box[1], box[3], height)
    image = Image.fromarray(rgb)
    draw = ImageDraw.Draw(image)
    draw.rectangle((left, top, right - 1, bottom - 1), outline=_HALO, width=3 * line)
    draw.rectangle((left, top, right - 1, bottom - 1), outline=colour, width=2 * line)
    return np.array(image)


def overlay_heat(rgb: np.ndarray, heat: np.ndarray, strength: float = 0.75) -> np.ndarray:
    """The image in grey with `heat` (height × width, 0 or more) over it, red where it is highest.

    Where `heat` is 0 the image stays grey.
    """
    share = np.clip(heat / (heat.max() or 1), 0, 1)[..., None]
    grey = np.array(Image.fromarray(rgb).convert("L").convert("RGB"), float)
    colours = ramp(signed=False)
    hot = colours[np.rint(share[..., 0] * (len(colours) - 1)).astype(int)]
    return np.rint(grey + (hot - grey) * strength * share).astype(np.uint8)


def enlarge(rgb: np.ndarray, factor: int) -> np.ndarray:
    """Every pixel as a square of `factor` pixels."""
    return rgb.repeat(factor, axis=0).repeat(factor, axis=1)


def side_by_side(images: Sequence[np.ndarray], height: int = 256, gap: int = 8) -> np.ndarray:
    """The images in a row on white, each enlarged by a whole factor or shrunk to fit `height`."""
    fitted = [_fit(image, height) for image in images]
    width = sum(image.shape[1] for image in fitted) + gap * (len(fitted) - 1)
    row = np.full((height, width, 3), 255, np.uint8)
    left = 0
    for image in fitted:
        top = (height - image.shape[0]) // 2
        row[top : top + image.shape[0], left : left + image.shape[1]] = image
        left += image.shape[1] + gap
    return row


def to_png(rgb: np.ndarray) -> bytes:
    """The image as a PNG file."""
    file = io.BytesIO()
    Image.fromarray(rgb).save(file, "PNG", compress_level=1)
    return file.getvalue()


def _fit(rgb: np.ndarray, height: int) -> np.ndarray:
    if rgb.shape[0] <= height:
        return enlarge(rgb, height // rgb.shape[0])
    image = Image.fromarray(rgb)
    width = max(1, round(image.width * height / image.height))
    return np.array(image.resize((width, height), Image.Resampling.LANCZOS))


def _clip(start: float, end: float, length: int) -> tuple[int, int]:
    """Whole pixels inside the image, at least one of them."""
    first = min(max(round(start), 0), length - 1)
    return first, max(first + 1, min(round(end), length))


def draw_filmstrip(frames: Sequence[tuple[FeatureMaps, Sequence[int]]]) -> np.ndarray:
    """The first four channels of each of the maps, in rows, below the layer's number, name and
    size (which is given with the maps): height × width × 3, uint8."""
    names = number_layers((maps.layer, maps.type) for maps, _ in frames)
    frame = (_COLUMNS * (_SIDE + 4) + 4 + _GAP, 3 * _LINE + 2 * (_SIDE + 8) + _GAP)
    rows = -(-len(frames) // _IN_ROW)
    width = min(len(frames), _IN_ROW) * frame[0] + _GAP
    picture = Image.new("RGB", (width, rows * frame[1] + _GAP), _PAPER)
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(13)
    for i, (maps, size) in enumerate(frames):
        left, top = _GAP + i % _IN_ROW * frame[0], _GAP + i // _IN_ROW * frame[1]
        values = maps.activations[0]
        call = f", call {maps.call}" if maps.calls > 1 else ""
        lines = ((names[maps.layer] + call, _INK), (maps.layer, _PALE))
        for n, (text, colour) in enumerate((*lines, (describe_size(size), _PALE))):
            line = _end_of(text, draw, font, frame[0] - _GAP)
            draw.text((left, top + n * _LINE), line, colour, font)
        picture.paste(_first_channels(values), (left, top + 3 * _LINE))
    return np.array(picture)


def _first_channels(values: np.ndarray) -> Image.Image:
    shown = range(min(STRIP_CHANNELS, len(values)))
    width = _COLUMNS * (_SIDE + 4)
    rgb = tile(values, shown, columns=_COLUMNS, width=width, numbered=False).rgb
    image = Image.fromarray(rgb)
    image.thumbnail((width + 4, 2 * (_SIDE + 8)))
    return image


def _end_of(text: str, draw: ImageDraw.ImageDraw, font: Any, width: int) -> str:
    """The text, or as much of its end as fits: that is where the names of layers differ."""
    shown = text
    while draw.textlength(shown, font) > width and len(text) > 1:
        text = text[1:]
        shown = "..." + text
    return shown
