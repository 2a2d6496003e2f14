"""Marks on a picture: boxes, and heat laid over it. Pictures are height × width × 3, uint8."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from explorer.trace.colours import FRAME, RGB
from explorer.vision.tiles import ramp

Box = tuple[float, float, float, float]

_HALO = (255, 255, 255)


def outlined(picture: np.ndarray, box: Box, colour: RGB = FRAME) -> np.ndarray:
    """A copy with the frame of `box` (left, top, right, bottom; the last two not included), kept
    within the picture. The line is white outside and coloured inside, to be seen on any ground."""
    height, width = picture.shape[:2]
    line = max(1, round(max(height, width) / 300))
    left, right = _within(box[0], box[2], width)
    top, bottom = _within(box[1], box[3], height)
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    draw.rectangle((left, top, right - 1, bottom - 1), outline=_HALO, width=3 * line)
    draw.rectangle((left, top, right - 1, bottom - 1), outline=colour, width=2 * line)
    return np.array(image)


def overlaid(picture: np.ndarray, heat: np.ndarray, strength: float = 0.75) -> np.ndarray:
    """The picture in grey with `heat` (height × width, from 0) over it, red where it is highest.

    Heat that is 0 everywhere leaves the grey picture.
    """
    share = np.clip(heat / (heat.max() or 1), 0, 1)[..., None]
    grey = np.array(Image.fromarray(picture).convert("L").convert("RGB"), float)
    colours = ramp(signed=False)
    hot = colours[np.rint(share[..., 0] * (len(colours) - 1)).astype(int)]
    return np.rint(grey + (hot - grey) * strength * share).astype(np.uint8)


def enlarged(picture: np.ndarray, factor: int) -> np.ndarray:
    """Every pixel as a square of `factor` pixels."""
    return picture.repeat(factor, axis=0).repeat(factor, axis=1)


def side_by_side(pictures: Sequence[np.ndarray], height: int = 256, gap: int = 8) -> np.ndarray:
    """Pictures in a row on white, each enlarged by a whole factor or shrunk to fit `height`."""
    fitted = [_fitted(picture, height) for picture in pictures]
    width = sum(picture.shape[1] for picture in fitted) + gap * (len(fitted) - 1)
    row = np.full((height, width, 3), 255, np.uint8)
    left = 0
    for picture in fitted:
        top = (height - picture.shape[0]) // 2
        row[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
        left += picture.shape[1] + gap
    return row


def to_png(picture: np.ndarray) -> bytes:
    """The picture as a PNG file."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG", compress_level=1)
    return file.getvalue()


def _fitted(picture: np.ndarray, height: int) -> np.ndarray:
    if picture.shape[0] <= height:
        return enlarged(picture, height // picture.shape[0])
    image = Image.fromarray(picture)
    width = max(1, round(image.width * height / image.height))
    return np.array(image.resize((width, height), Image.Resampling.LANCZOS))


def _within(start: float, end: float, length: int) -> tuple[int, int]:
    """Whole pixels, at least one of them, inside the picture."""
    first = min(max(round(start), 0), length - 1)
    return first, max(first + 1, min(round(end), length))
