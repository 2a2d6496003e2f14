"""A tensor as a picture: blue below zero, white at zero, red above; as a data URL for HTML."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from explorer import limits
from explorer.trace import Array, Summary
from explorer.trace.colours import NAN, SIGNED


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
    is_finite = np.isfinite(values)
    scaled = np.where(is_finite, values, 0.0)
    scaled /= np.abs(scaled).max(initial=0.0) or 1.0
    at = np.linspace(-1, 1, len(SIGNED))
    channels = [np.interp(scaled, at, channel) for channel in zip(*SIGNED, strict=True)]
    coloured = np.where(is_finite[..., None], np.stack(channels, -1), NAN)
    return np.asarray(coloured.round(), np.uint8)
