"""A tensor as a picture: blue below zero, white at zero, red above; as a data address for html."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from explorer.trace import Array, Summary
from explorer.trace.colours import NAN, SIGNED

#: Most cells along a side.
CELLS = 64


def matrix(array: Array) -> np.ndarray | None:
    """The numbers as rows and columns: of a large tensor its first corner; None without numbers."""
    values = np.asarray(array.corner if isinstance(array, Summary) else array)
    if values.dtype.kind not in "fiu" or values.size < 2:
        return None
    rows = values.reshape(-1, values.shape[-1]).astype(float)
    return rows[:CELLS, :CELLS]


def address(array: Array) -> str | None:
    """The picture as a `data:` address, one pixel per number; None for a single number."""
    shown = matrix(array)
    if shown is None:
        return None
    out = io.BytesIO()
    Image.fromarray(colours(shown)).save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def colours(shown: np.ndarray) -> np.ndarray:
    """(rows, columns, 3) bytes; the largest absolute value gets the full colour, NaN is grey."""
    finite = np.isfinite(shown)
    top = float(np.abs(shown[finite]).max()) if finite.any() else 0.0
    strength = np.clip(np.where(finite, shown, 0.0) / (top or 1.0), -1, 1)
    at = np.linspace(-1, 1, len(SIGNED))
    mixed = np.stack([np.interp(strength, at, c) for c in zip(*SIGNED, strict=True)], axis=-1)
    mixed[~finite] = NAN
    return mixed.round().astype(np.uint8)
