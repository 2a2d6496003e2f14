r"""Numbers and arrays as short LaTeX."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from explorer.trace.records import Summary
from explorer.trace.text import number

#: Arrays with more rows, columns or elements than this are named, not written out.
ROWS, COLUMNS, ELEMENTS = 3, 4, 6


def is_short(value: Any) -> bool:
    """Whether a value is written out with all its numbers."""
    if isinstance(value, Summary):
        return False
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return True
    if value.size > ELEMENTS or value.size == 0:
        return False
    columns = value.shape[-1]
    rows = value.shape[-2] if value.ndim > 1 else 1
    return value.size == rows * columns and rows <= ROWS and columns <= COLUMNS


def scalar(value: Any) -> str:
    """A number in four digits: 1.5e-07 as 1.5·10⁻⁷, nan and inf as words and ∞."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    is_real = isinstance(value, float | np.floating)
    text = f"{float(value):.4g}" if is_real else number(value)
    if "nan" in text:
        return r"\text{nan}"
    if "inf" in text:
        return text.replace("inf", r"\infty")
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent.lstrip("+-").isdigit() else text


def literal(value: Any, letter: str) -> str:
    """A value written out; a large one as its letter with its shape below."""
    if isinstance(value, np.ndarray | Summary) and not is_short(value):
        return rf"\underset{{{shape(value.shape)}}}{{{letter}}}"
    if isinstance(value, np.ndarray) and value.ndim:
        rows = value.reshape(-1, value.shape[-1])
        return matrix(rows)
    if value is None or isinstance(value, str):
        return rf"\text{{{re.sub(r'[^A-Za-z0-9 ]', '', str(value))}}}"
    if isinstance(value, list):
        return "(" + ", ".join(scalar(item) for item in value) + ")"
    text = scalar(value[()] if isinstance(value, np.ndarray) else value)
    return f"({text})" if text.startswith("-") or "cdot" in text else text


def matrix(rows: np.ndarray) -> str:
    body = r" \\ ".join(" & ".join(scalar(v) for v in row) for row in rows)
    return rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"


def shape(sizes: tuple[int, ...]) -> str:
    return r" \times ".join(map(str, sizes)) or "1"
