"""Many maps as one image: tiled, coloured, enlarged by a whole factor, numbered.

The image has a palette, so only a level from 0 to 255 is computed and stored for each pixel.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from explorer.trace.colours import NAN, SIGNED

#: The space between tiles, and the height of the caption above each, in pixels.
GUTTER, CAPTION = 4, 12

# The first palette entries are not values; the rest run from the lowest colour to the highest.
_GROUND, _INK, _BLANK, _FIRST = 0, 1, 2, 3
_GREYS = ((222, 226, 231), (28, 36, 48), NAN)
_LAST, _ZERO = 255, 129  # as many levels below zero as above
_LETTER = 6  # width of the font's letters, in pixels


@dataclass(frozen=True)
class Tiling:
    """One page of maps as an image.

    `levels` (height × width, uint8) are positions in `palette` (256 × 3, uint8). `channels` are
    those on the page, in order; `ranges` holds for each the values of the lowest and the highest
    colour (equal for all of them unless the scale is per channel). Zero is white. If any value of
    the layer is negative the colours are `signed`: blue below zero, red above. `constant` lists
    the channels whose values are all equal: they are left blank, and their caption gives the value
    (a map with a single value is drawn in its colour).
    Each value is `scale` × `scale` pixels; where maps are too wide for their column, `mean_of` is
    greater than 1 and each pixel is the mean of `mean_of` × `mean_of` values. `boxes` are the
    positions of the maps: left, top, right, bottom, in pixels, the last two not included.
    """

    levels: np.ndarray
    palette: np.ndarray
    channels: tuple[int, ...]
    ranges: tuple[tuple[float, float], ...]
    signed: bool
    constant: tuple[int, ...]
    scale: int
    mean_of: int
    boxes: tuple[tuple[int, int, int, int], ...]
    page: int
    pages: int

    @property
    def rgb(self) -> np.ndarray:
        """The image, height × width × 3, uint8."""
        return self.palette[self.levels]

    def png(self) -> bytes:
        """The image as a PNG file."""
        image = Image.fromarray(self.levels, "P")
        image.putpalette(self.palette.tobytes())
        file = io.BytesIO()
        image.save(file, "PNG", compress_level=1)
        return file.getvalue()


def tile(
    maps: np.ndarray,
    order: Sequence[int] | None = None,
    *,
    per_channel: bool = False,
    page: int = 0,
    page_size: int = 64,
    columns: int = 8,
    width: int = 720,
    numbered: bool = True,
    names: Sequence[str] = (),
    mark_constant: bool = True,
) -> Tiling:
    """Draw one page of `maps` (channels × height × width).

    `order` selects and sorts the channels (default: all, by index). Unless `per_channel`, the
    colours cover the values of the whole layer, whichever page is shown. Maps are enlarged by the
    largest whole factor that keeps the image about `width` pixels wide, or shrunk by the smallest
    one. Infinite and NaN values are left blank. With `numbered`, the caption above each map is its
    channel's number, followed by its name if there are `names` (one per channel). Without
    `mark_constant`, channels whose values are all equal are drawn in their colour.

    Raises ValueError for a page, or a channel, that does not exist.
    """
    channels = np.arange(len(maps)) if order is None else np.asarray(order, int)
    if not ((channels >= 0) & (channels < len(maps))).all():
        raise ValueError(f"There are {len(maps)} channels, counted from 0.")
    pages = max(1, -(-len(channels) // page_size))
    if not 0 <= page < pages:
        raise ValueError(f"There are {pages} pages, counted from 0; there is no page {page}.")
    shown = channels[page * page_size : (page + 1) * page_size]
    columns = max(1, min(columns, len(shown)))

    lows, highs = _extremes(maps)
    signed = bool((lows < 0).any())
    reach = np.maximum(abs(lows), abs(highs))
    if not per_channel:
        reach[:] = reach.max(initial=0)
    constant = (lows == highs) & (maps[0].size > 1) & mark_constant
    room = max(1, width // columns - GUTTER)
    mean_of = -(-maps.shape[2] // room)
    levels = _levels(_means(maps[shown], mean_of), reach[shown], signed)
    levels[constant[shown]] = _BLANK
    scale = max(1, room // maps.shape[2])
    levels = levels.repeat(scale, axis=1).repeat(scale, axis=2)
    above = CAPTION if numbered else GUTTER
    titles = [f"{i} {name}" for i, name in enumerate(names)] or [str(i) for i in range(len(maps))]
    captions = [
        f"{titles[channel]} = {lows[channel]:.3g}" if constant[channel] else titles[channel]
        for channel in shown
    ]
    return Tiling(
        levels=_arrange(levels, columns, above, captions if numbered else []),
        palette=_palette(signed),
        channels=tuple(shown.tolist()),
        ranges=tuple((-r if signed else 0.0, r) for r in reach[shown].tolist()),
        signed=signed,
        constant=tuple(shown[constant[shown]].tolist()),
        scale=scale,
        mean_of=mean_of,
        boxes=tuple(_boxes(levels.shape, columns, above)),
        page=page,
        pages=pages,
    )


def to_colours(values: np.ndarray, reach: float, signed: bool) -> np.ndarray:
    """One map (height × width) in the colours of `tile`, a pixel per value: height × width × 3,
    uint8. `reach` is the value at the last colour."""
    return _palette(signed)[_levels(values[None], np.array([reach]), signed)[0]]


def _means(maps: np.ndarray, n: int) -> np.ndarray:
    """Means of n × n values; an incomplete block at the right or bottom edge is dropped."""
    if n == 1:
        return maps
    count, height, width = maps.shape[0], max(1, maps.shape[1] // n), maps.shape[2] // n
    rows = min(n, maps.shape[1])
    blocks = maps[:, : height * rows, : width * n].reshape(count, height, rows, width, n)
    return blocks.mean(axis=(2, 4))


def _extremes(maps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and largest finite value of each channel, in float64; 0 if there is none."""
    lows, highs = maps.min(axis=(1, 2)), maps.max(axis=(1, 2))
    if not (np.isfinite(lows).all() and np.isfinite(highs).all()):
        finite = np.isfinite(maps)
        lows = np.where(finite, maps, np.inf).min(axis=(1, 2))
        highs = np.where(finite, maps, -np.inf).max(axis=(1, 2))
        none = ~finite.any(axis=(1, 2))
        lows[none] = highs[none] = 0
    return lows.astype(float), highs.astype(float)


def _levels(maps: np.ndarray, reach: np.ndarray, signed: bool) -> np.ndarray:
    """The positions of values in the palette: `reach` is the last one, zero is white."""
    zero = _ZERO if signed else _FIRST
    slope = np.divide(_LAST - zero, reach, out=np.zeros_like(reach), where=reach > 0)
    with np.errstate(invalid="ignore"):
        levels = np.rint(maps * slope.astype(np.float32)[:, None, None]) + zero
        finite = np.isfinite(levels)
        return np.where(finite, levels, _BLANK).astype(np.uint8)


def _boxes(size: tuple[int, ...], columns: int, above: int) -> Iterator[tuple[int, int, int, int]]:
    """The positions of the tiles (count × height × width) in the image."""
    count, height, width = size
    for i in range(count):
        top = i // columns * (height + above + GUTTER) + above
        left = i % columns * (width + GUTTER) + GUTTER
        yield left, top, left + width, top + height


def _arrange(tiles: np.ndarray, columns: int, above: int, captions: Sequence[str]) -> np.ndarray:
    """The tiles in rows of `columns`, with gutters between them and a caption above each."""
    count, height, width = tiles.shape
    rows = -(-count // columns)
    size = rows * (height + above + GUTTER), columns * (width + GUTTER) + GUTTER
    canvas = np.full(size, _GROUND, np.uint8)
    boxes = list(_boxes(tiles.shape, columns, above))
    for (left, top, right, bottom), drawn in zip(boxes, tiles, strict=True):
        canvas[top:bottom, left:right] = drawn
    for (left, top, _, _), caption in zip(boxes, captions, strict=False):
        text = _draw_text(_shorten(caption, (width + GUTTER) // _LETTER))[:, :width]
        canvas[top - CAPTION : top - CAPTION + len(text), left : left + text.shape[1]][text] = _INK
    return canvas


def _shorten(caption: str, letters: int) -> str:
    """The caption without its value, and without its last words, as far as needed; its number
    always stays."""
    if len(caption) <= letters:
        return caption
    short = caption.split(" = ")[0]
    number, *words = short.split()
    while words and len(short) > letters:
        words.pop()
        short = " ".join((number, *words)) + "..." * bool(words)
    return short


@cache
def _font() -> ImageFont.ImageFont:
    return ImageFont.load_default_imagefont()


def _draw_text(words: str) -> np.ndarray:
    """The pixels of a text: CAPTION × width, bool."""
    words = words.replace("−", "-")  # the font has the letters of Latin-1
    image = Image.new("1", (_LETTER * len(words), CAPTION))
    ImageDraw.Draw(image).text((0, 0), words, fill=1, font=_font())
    return np.array(image)


@cache
def _palette(signed: bool) -> np.ndarray:
    palette = np.concatenate([np.array(_GREYS, np.uint8), ramp(signed)])
    palette.setflags(write=False)
    return palette


def ramp(signed: bool) -> np.ndarray:
    """The colours from the lowest value to the highest (n × 3, uint8)."""
    anchors = SIGNED if signed else SIGNED[2:]
    at = np.linspace(0, len(anchors) - 1, _LAST - _FIRST + 1)
    channels = [np.interp(at, range(len(anchors)), c) for c in zip(*anchors, strict=True)]
    return np.rint(np.stack(channels, axis=1)).astype(np.uint8)
