"""Formats numbers, shapes and lists of names, for labels, formulas and sentences."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

import numpy as np

from explorer.trace.records import Array, Summary

#: Most rows and columns shown; an ellipsis replaces the others.
ROWS, COLUMNS = 4, 5
#: Characters of an expression in a sentence, which stays short.
MOST_TEXT = 60
#: A number with its sign and exponent; and the longest that is never cut.
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\.?\d[\w.]*(?:(?<=[eE])[-+]\d+)?|(?:nan|inf)\b)")
_UNCUT = 30


def number(value: object) -> str:
    """A number with at most five significant digits: 37.5, 1.2243e-04, nan, inf, True."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, complex | np.complexfloating):
        return f"{value:.4g}"
    if isinstance(value, float | np.floating):
        return f"{float(value):.5g}"
    return str(value)


def array_lines(array: Array | None, width: int | None = None) -> list[str]:
    """A tensor as text, shortened, with a line for each row; a summary on two lines.

    With a `width`, as many numbers of each row (but one) as fit into that many characters.
    """
    columns = COLUMNS
    lines = _array_lines(array, columns)
    while width is not None and columns > 1 and max(map(len, lines), default=0) > width:
        columns -= 1
        lines = _array_lines(array, columns)
    return lines


def _array_lines(array: Array | None, columns: int) -> list[str]:
    if array is None:
        return []
    if isinstance(array, Summary):
        return [
            f"{number(array.min)} … {number(array.max)}",
            f"mean {number(array.mean)}, norm {number(array.norm)}",
        ]
    if array.ndim == 0:
        return [number(array[()])]
    if array.size == 0:
        return ["[]"]
    if array.ndim == 1:
        return [_row(array, columns)]
    if array.ndim == 2:
        rows = [_row(row, columns) for row in array[:ROWS]]
        rows += ["…"] if len(array) > ROWS else []
        if len(rows) == 1:
            return [f"[{rows[0]}]"]
        return [f"[{rows[0]},", *[f" {row}," for row in rows[1:-1]], f" {rows[-1]}]"]
    if array.size <= COLUMNS:
        return ["[" * (array.ndim - 1) + _row(array.reshape(-1), columns) + "]" * (array.ndim - 1)]
    flat = array.reshape(-1)
    if flat.dtype.kind in "fiu":
        return [f"{number(flat.min())} … {number(flat.max())}"]
    return [_row(flat, columns)]


def _row(row: np.ndarray, columns: int) -> str:
    numbers = [number(v) for v in row[:columns]]
    return "[" + ", ".join(numbers + (["…"] if len(row) > columns else [])) + "]"


def outside_numbers(text: str, position: int) -> int:
    """Where a text may be cut: at this position or, within a number, before that. Half a number is
    another number."""
    for found in _NUMBER.finditer(text, max(0, position - 2 * _UNCUT)):
        if found.end() > position:
            is_near = 0 < position - found.start() <= _UNCUT
            return found.start() if is_near else position
    return position


def shortened(text: str, most: int = MOST_TEXT) -> str:
    """At most so many characters, and "…" if there are more."""
    return text if len(text) <= most else f"{text[: outside_numbers(text, most)]}…"


def shape_text(shape: tuple[int, ...] | None) -> str:
    if shape is None:
        return ""
    return "()" if not shape else f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def join_names(names: Iterable[str], most: int = 4) -> str:
    """Names for use in a sentence, each once: "a, b and c", or "a, b, c, d and 3 more"."""
    unique = list(dict.fromkeys(names))
    if len(unique) > most:
        return f"{', '.join(unique[:most])} and {len(unique) - most} more"
    return " and ".join(filter(None, (", ".join(unique[:-1]), unique[-1]))) if unique else ""


#: What is written over by what follows it in the same line, as progress bars are; and colours.
_REWRITTEN = re.compile(r"[^\r\n]*\r(?=[^\r\n])|\x1b\[[0-9;]*m")


def as_on_a_terminal(text: str) -> str:
    """Printed text as a terminal shows it in the end: of a line that is written again and again,
    the last state."""
    return _REWRITTEN.sub("", text)


def digest(text: str) -> str:
    """A short name for a text: equal texts have equal names."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
