"""Short exact text for arrays, line by line.

Elements are counted and cut before anything is formatted: formatting a large array as a whole
would exhaust time and memory.
"""

from __future__ import annotations

import numpy as np

from explorer.trace import Array, Plain, Summary
from explorer.trace.text import number

ROWS, COLUMNS = 6, 8


def text(
    array: Array | None, *, rows: int = ROWS, columns: int = COLUMNS, width: int | None = None
) -> str:
    """An array in at most `rows` lines of `columns` numbers, or of as many (but one) as fit into
    `width` characters; a `Summary` as its statistics."""
    if array is None:
        return "None"
    if isinstance(array, Summary):
        return _summary(array)
    if array.ndim == 0:
        return number(array[()])
    if array.size == 0:
        return "[]"
    return "\n".join(_lines(array, rows, columns, width))


def any_text(value: Array | Plain, *, width: int | None = None) -> str:
    """An array as `text` writes it, anything else as Python does, cut."""
    if value is None or isinstance(value, np.ndarray | Summary):
        return text(value, width=width)
    return repr(value)[:200]


def _summary(s: Summary) -> str:
    lines = [
        f"min {number(s.min)}  max {number(s.max)}",
        f"mean {number(s.mean)}  norm {number(s.norm)}",
    ]
    if s.nonfinite:
        lines.append(f"{s.nonfinite} not finite")
    return "\n".join(lines)


def _lines(array: np.ndarray, rows: int, columns: int, width: int | None) -> list[str]:
    """Rows of the last axis with their brackets; columns of a matrix line up."""
    depth = array.ndim - 1
    flat = array.reshape(-1, array.shape[-1])
    shown = [[number(v) for v in row[:columns]] for row in flat[:rows]]
    widths = [max(len(row[i]) for row in shown) for i in range(len(shown[0]))]
    while width is not None and len(widths) > 1 and _wide(widths, array.shape) > width:
        widths.pop()
    dots = ", …" if array.shape[-1] > len(widths) else ""
    lines = []
    for i, row in enumerate(shown):
        opened = depth if i == 0 else _boundaries(array.shape, i)
        closed = depth if i + 1 == len(flat) else _boundaries(array.shape, i + 1)
        cells = ", ".join(v.rjust(w) for v, w in zip(row, widths, strict=False))
        lines.append(
            " " * (depth - opened) + "[" * (opened + 1) + cells + dots + "]" * (closed + 1)
        )
    if len(flat) > rows:
        lines.append(" " * depth + f"… {len(flat) - rows} more rows" + "]" * depth)
    return lines


def _wide(widths: list[int], shape: tuple[int, ...]) -> int:
    """Characters of a whole line: numbers, commas, all brackets, and the dots for the rest."""
    dots = 3 if shape[-1] > len(widths) else 0
    return sum(widths) + 2 * (len(widths) - 1) + 2 * len(shape) + dots


def _boundaries(size: tuple[int, ...], row: int) -> int:
    """How many axes, except the last, start again at this row of the flattened array."""
    count = 0
    for length in reversed(size[:-1]):
        if row % length:
            break
        row //= length
        count += 1
    return count
