"""The loss over a plane as a picture: bands with contour lines, in the colours of both themes.

`explorer/ui/optimizer/surface_map.js` draws the same bands while the page is open.
"""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from explorer.trace.colours import SURFACE

_BANDS = 18
#: Pixels of the picture, across and up.
_SIZE = (720, 480)
#: Higher places are drawn as high as this.
_LARGEST_LOSS = 1e300
#: How much of a contour line's colour is seen.
_LINE = 0.45
_STYLE = (
    "<style>.dark { display: none } @media (prefers-color-scheme: dark) "
    "{ .dark { display: inline } .light { display: none } }</style>"
)


def heights(loss: np.ndarray, is_log: bool) -> tuple[np.ndarray, float, float]:
    """How high each place is: log10 of what the loss is above the lowest, plus a floor that keeps
    it finite there; with the lowest loss, and the floor. NaN where the loss is not finite. With
    `is_log` an axis is logarithmic, and the loss spans many decades."""
    loss = np.where(np.isfinite(loss), loss, np.nan)
    low = float(np.nanmin(loss)) if np.isfinite(loss).any() else 0.0
    floor = _floor(loss - low, is_log)
    return np.log10(np.clip(loss - low, 0, _LARGEST_LOSS) + floor), low, floor


def _floor(above: np.ndarray, is_log: bool) -> float:
    """A hundredth of the typical height, or of that beside the lowest places."""
    share = 0.05 if is_log else 0.5
    typical = float(np.nanquantile(above, share)) if np.isfinite(above).any() else 0.0
    return max(typical * 0.01, 1e-30)


def picture(loss: np.ndarray, is_log: bool) -> str:
    """The loss (rows upwards × columns) as the data URL of an SVG, which is light or dark as the
    reader's screen."""
    levels = _levels(heights(loss, is_log)[0], is_log)
    width, height = _SIZE
    images = "".join(
        f'<image class="{theme}" width="{width}" height="{height}" href="{_png(levels, theme)}"/>'
        for theme in ("light", "dark")
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'preserveAspectRatio="none">{_STYLE}{images}</svg>'
    )
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _levels(height: np.ndarray, is_log: bool) -> np.ndarray:
    """For each pixel, from the upper left: twice its band, one more on a line between two bands."""
    if not np.isfinite(height).any():
        return np.full(_SIZE[::-1], 2 * _BANDS, np.uint8)
    least, most = float(np.nanmin(height)), float(np.nanmax(height))
    # The losses are smooth, their logarithms are not; on logarithmic axes it is the logarithms.
    fine = _finer(height) if is_log else np.log10(np.maximum(_finer(10**height), 10**least))
    bands = np.floor(_BANDS * (fine - least) / ((most - least) or 1.0)).clip(0, _BANDS - 1)
    lines = (bands != np.roll(bands, 1, 0)) | (bands != np.roll(bands, 1, 1))
    lines[0] = lines[:, 0] = False
    levels = np.where(np.isfinite(fine), 2 * bands + lines, 2 * _BANDS)
    return levels[::-1].astype(np.uint8)


def _finer(values: np.ndarray) -> np.ndarray:
    """As many values as the picture has pixels, linear between those that are known."""
    rows, columns = values.shape
    across, up = (
        np.linspace(0, n - 1, size) for n, size in zip((columns, rows), _SIZE, strict=True)
    )
    wide = np.stack([np.interp(across, range(columns), row) for row in values])
    return np.stack([np.interp(up, range(rows), column) for column in wide.T], axis=1)


def _png(levels: np.ndarray, theme: str) -> str:
    colours = SURFACE[theme]
    palette, contour = np.array(colours["palette"], float), np.array(colours["contour"], float)
    at = np.linspace(0, len(palette) - 1, _BANDS)
    bands = np.stack([np.interp(at, range(len(palette)), part) for part in palette.T], axis=1)
    lines = bands + _LINE * (contour - bands)
    entries = np.concatenate(
        [np.stack([bands, lines], axis=1).reshape(-1, 3), [colours["unknown"]]]
    )
    image = Image.fromarray(levels, "P")
    image.putpalette(entries.round().astype(np.uint8).tobytes())
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"
