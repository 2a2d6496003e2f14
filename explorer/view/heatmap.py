"""A tensor as a picture: blue below zero, white at zero, red above; as a data URL for HTML."""

from __future__ import annotations

import base64
import io

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, Normalize
from PIL import Image

from explorer import limits
from explorer.trace import Array, Summary
from explorer.trace.colours import NAN, SIGNED


def _unit(rgb: tuple[int, int, int]) -> tuple[float, float, float]:
    red, green, blue = rgb
    return red / 255, green / 255, blue / 255


#: From blue over white to red.
SIGNED_COLOURS = LinearSegmentedColormap.from_list(
    "signed", [_unit(c) for c in SIGNED], N=511
).with_extremes(bad=_unit(NAN))


def matrix(array: Array) -> np.ndarray | None:
    """The numbers as rows and columns: of a large tensor its first corner; None without numbers."""
    values = np.asarray(array.corner if isinstance(array, Summary) else array)
    if values.dtype.kind not in "fiu" or values.size < 2:
        return None
    rows = values.reshape(-1, values.shape[-1]).astype(float)
    return rows[: limits.HEATMAP_CELLS, : limits.HEATMAP_CELLS]


def data_url(array: Array) -> str | None:
    """The picture as a `data:` URL, one pixel per number; None for a single number."""
    values = matrix(array)
    if values is None:
        return None
    out = io.BytesIO()
    Image.fromarray(colours(values)).save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def colours(values: np.ndarray) -> np.ndarray:
    """(rows, columns, 3) bytes; the largest absolute value gets the full colour, NaN is grey."""
    finite = np.ma.masked_invalid(values)
    top = float(np.abs(finite).max()) if finite.count() else 0.0
    scaled = Normalize(-(top or 1.0), top or 1.0)(finite)
    return np.asarray(SIGNED_COLOURS(scaled, bytes=True))[..., :3]
