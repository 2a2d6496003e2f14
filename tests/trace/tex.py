"""Works out a line of LaTeX with numbers in it, so that what is shown can be checked too."""

from __future__ import annotations

import math
import re

import torch


def _special(function: object) -> object:
    return lambda x: float(function(torch.tensor(float(x), dtype=torch.float64)))  # type: ignore[operator]


NAMES = {
    "sign": lambda x: (x > 0) - (x < 0),
    "trunc": math.trunc,
    "floor": math.floor,
    "clamp": lambda x, bound: max(-bound, min(bound, x)),
    "sigma": lambda x: 1 / (1 + math.exp(-x)),
    "Phi": lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))),
    "varphi": lambda x: math.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "psi": _special(torch.digamma),
    "trigamma": _special(lambda t: torch.polygamma(1, t)),
    "bessel": _special(torch.special.i1),
    "erfinv": _special(torch.erfinv),
    "log": math.log,
    "abs": abs,
    "inf": math.inf,
    **{
        name: getattr(math, name)
        for name in ["sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "pi", "exp"]
    },
}
#: One level of braces at a time, from the inside.
REWRITES = [
    (r"\\[td]?frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))"),
    (r"\\operatorname\{(\w+)\}", r"\\\1"),
    (r"\\sqrt\{([^{}]*)\}", r"\\sqrt(\1)"),
    (r"\^\{([^{}]*)\}", r"**(\1)"),
]
AFTER = [
    (r"\\psi'\(", r"\\trigamma("),
    (r"\bI_1\(", r"\\bessel("),
    (r"\be\*\*\(", r"\\exp("),
    (r"\\(?:cdot|odot)", "*"),
    (r"\^(\d)", r"**\1"),
    (r"\\lfloor(.*?)\\rfloor", r"\\floor(\1)"),
    (r"\|([^|]*)\|", r"\\abs(\1)"),
    (r"\\ln *(\((?:[^()]|\([^()]*\))*\)|[\d.]+)", r"\\log(\1)"),
    (r"\\lnot *\\,", " not "),
    (r"\\pm", ""),
    (r"\\le\b", "<="),
    (r"\\ge\b", ">="),
    (r"\\infty", r"\\inf"),
    (r"\\[,;! ]", " "),
    (r"\[", "("),
    (r"\]", ")"),
    (r"\\(\w+)", r" \1"),
    (r"([\d.)]|pi) +(?=[\d(]|pi|sin|cos|exp|sigma)", r"\1*"),
    (r"(\*\* *\(-?[\d.]+\)|\))(?=\()", r"\1*"),
]


def value(text: str) -> float | None:
    """The number an expression comes to; None if it is not one that is understood here."""
    before = ""
    while before != text:
        before = text
        for pattern, replacement in REWRITES:
            text = re.sub(pattern, replacement, text)
    for pattern, replacement in AFTER:
        text = re.sub(pattern, replacement, text)
    try:
        return float(eval(text, {"__builtins__": {}}, dict(NAMES)))
    except (SyntaxError, NameError, TypeError):
        return None
    except (OverflowError, ZeroDivisionError, ValueError):
        return math.nan
