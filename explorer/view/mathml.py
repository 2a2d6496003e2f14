"""Formulas as MathML, which a browser shows without a library.

https://www.w3.org/TR/mathml-core/; the conversion from LaTeX is latex2mathml's.
"""

from __future__ import annotations

import logging
from functools import lru_cache

_LOG = logging.getLogger(__name__)


@lru_cache(256)
def math_html(tex: str) -> str:
    """A formula of the rules as MathML, each line of an aligned one by itself."""
    from latex2mathml.converter import convert  # 30 ms, needed for few pages

    if r"\href" in tex:  # a program may have written it: none of ours has a link
        return ""
    body = tex.removeprefix(r"\begin{aligned} ").removesuffix(r" \end{aligned}")
    lines = _lines(body) if body != tex else [tex]
    try:
        # It keeps the backslash of an underscore in words.
        shown = [convert(line.replace("&=", "=")).replace("\\_", "_") for line in lines if line]
        return "".join(f"<div>{line}</div>" for line in shown)
    except Exception:  # a rule without its formula is worth more than none
        _LOG.exception("no MathML for %s", tex)
        return ""


def _lines(body: str) -> list[str]:
    """The lines of an aligned formula; a matrix in it has lines of its own."""
    lines = [""]
    for part in body.split(r" \\ "):
        is_inside = lines[-1].count(r"\begin{") > lines[-1].count(r"\end{")
        if is_inside:
            lines[-1] += rf" \\ {part}"
        else:
            lines.append(part)
    return lines[1:]
