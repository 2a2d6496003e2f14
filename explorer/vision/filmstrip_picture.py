"""The whole filmstrip as one image at print size, with the names of the layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from explorer.vision.feature_maps import FeatureMaps
from explorer.vision.layer_names import describe_size, number_layers
from explorer.vision.tiles import tile

#: Channels of each layer, and how many side by side.
CHANNELS, _COLUMNS = 4, 2
#: Pixels: a channel's side, the space around a layer, and the height of a line of text.
_SIDE, _GAP, _LINE = 112, 16, 18
#: Layers in a row.
_IN_ROW = 10
_PAPER, _INK, _PALE = (255, 255, 255), (28, 36, 48), (91, 102, 117)
_DOTS = "..."


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
            line = _fit(text, draw, font, frame[0] - _GAP)
            draw.text((left, top + n * _LINE), line, colour, font)
        picture.paste(_first_channels(values), (left, top + 3 * _LINE))
    return np.array(picture)


def _first_channels(values: np.ndarray) -> Image.Image:
    shown = range(min(CHANNELS, len(values)))
    width = _COLUMNS * (_SIDE + 4)
    rgb = tile(values, shown, columns=_COLUMNS, width=width, numbered=False).rgb
    image = Image.fromarray(rgb)
    image.thumbnail((width + 4, 2 * (_SIDE + 8)))
    return image


def _fit(text: str, draw: ImageDraw.ImageDraw, font: Any, width: int) -> str:
    """The text, or as much of its end as fits: that is where the names of layers differ."""
    shown = text
    while draw.textlength(shown, font) > width and len(text) > 1:
        text = text[1:]
        shown = _DOTS + text
    return shown
