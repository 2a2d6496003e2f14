"""Formulas as MathML, which a browser shows without a library.

https://www.w3.org/TR/mathml-core/; the conversion from LaTeX is latex2mathml's.
"""

from __future__ import annotations

import re
from functools import lru_cache

#: Between the lines of an `aligned` formula, not of a matrix in it.
_LINE = re.compile(r" \\\\ (?=[^&]*?&=)")


@lru_cache(256)
def math_html(tex: str) -> str:
    """A formula of the rules as MathML, each line of an aligned one by itself."""
    from latex2mathml.converter import convert  # 30 ms, needed for few pages

    body = tex.removeprefix(r"\begin{aligned} ").removesuffix(r" \end{aligned}")
    lines = _LINE.split(body) if body != tex else [tex]
    return "".join(f"<div>{convert(line.replace('&=', '='))}</div>" for line in lines if line)
