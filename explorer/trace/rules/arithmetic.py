"""Arithmetic on two inputs, and the functions that compare and choose, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from explorer.trace.rules.functions import sigmoid
from explorer.trace.rules.rule import Rule, Values, each

FLAT = "It is flat between its jumps, so its derivative is taken to be 0 everywhere."
TIE = "Where both are equal, each gets half: a convention."


def _scaled(sign: str = "") -> tuple[Any, Any]:
    """`alpha` times G; alpha is mentioned only where it is not 1."""
    factor = -1 if sign else 1
    return (
        lambda v: f"{sign}<G>" if v.alpha == 1 else f"{sign}<alpha> * <G>",
        lambda v: factor * v.alpha * v.G,
    )


def _power(v: Values) -> str:
    n = v.n
    if n == 2:
        return "<G> * 2 * <a>"
    if n == 0:
        return "0"
    return "<G> * <n> * <a>^{<n> - 1}"


def _ties(larger: str) -> tuple[Any, Any]:
    """G where this input won, half of it at a tie. `larger` is ">" or "<"."""
    won: Callable[[Any, Any], Any] = np.greater if larger == ">" else np.less

    def tex(v: Values) -> str:
        tie = bool(np.any(v.a == v.b))
        mark = f"[<a> {larger} <b>]"
        return f"<G> * {mark}" + (r" + \tfrac{1}{2} * <G> * [<a> = <b>]" if tie else "")

    return tex, lambda v: v.G * (won(v.a, v.b) + 0.5 * (v.a == v.b))


def _between(v: Values) -> str:
    low, high = v.saved.get("min"), v.saved.get("max")
    if low is None:
        return r"<G> * [<a> \le <max>]"
    return r"<G> * [<a> \ge <min>]" if high is None else r"<G> * [<min> \le <a> \le <max>]"


def _inside(v: Values) -> np.ndarray:
    low, high = v.saved.get("min"), v.saved.get("max")
    inside = np.ones(v.a.shape, bool)
    if low is not None:
        inside = inside & (v.a >= v.min)
    if high is not None:
        inside = inside & (v.a <= v.max)
    return v.G * inside


_same: tuple[Any, Any] = ("<G>", lambda v: v.G)
_zero: tuple[Any, Any] = ("0", lambda v: np.zeros(v.shape))

ARITHMETIC: dict[str, Rule] = {
    "AddBackward0": each(a=_same, b=_scaled()),
    "AddBackward1": each(a=_same),
    "SubBackward0": each(a=_same, b=_scaled("-")),
    "SubBackward1": each(a=_same),
    "RsubBackward0": each(a=_scaled("-"), b=_same),
    "RsubBackward1": each(a=_scaled("-")),
    "MulBackward0": each(
        a=("<G> * <b>", lambda v: v.G * v.b), b=("<G> * <a>", lambda v: v.G * v.a)
    ),
    "MulBackward1": each(a=("<G> * <b>", lambda v: v.G * v.b)),
    "DivBackward0": each(
        a=(r"\frac{<G>}{<b>}", lambda v: v.G / v.b),
        b=(r"-<G> * \frac{<a>}{<b>^2}", lambda v: -v.G * v.a / v.b**2),
    ),
    "DivBackward1": each(a=(r"\frac{<G>}{<b>}", lambda v: v.G / v.b)),
    "DivBackward2": each(FLAT, a=_zero, b=_zero),
    "NegBackward0": each(a=("-<G>", lambda v: -v.G)),
    "ReciprocalBackward0": each(a=("-<G> * <y>^2", lambda v: -v.G * v.y**2)),
    "PowBackward0": each(
        a=(_power, lambda v: v.G * (v.n * v.a ** (v.n - 1.0) if v.n else np.zeros(v.a.shape)))
    ),
    "PowBackward1": each(
        a=("<G> * <n> * <a>^{<n> - 1}", lambda v: v.G * v.n * v.a ** (v.n - 1.0)),
        n=(r"<G> * <y> * \ln <a>", lambda v: v.G * v.y * np.log(v.a)),
    ),
    "PowBackward2": each(n=(r"<G> * <y> * \ln <a>", lambda v: v.G * v.y * np.log(v.a))),
    "AddcmulBackward0": each(
        a=_same,
        b=("<value> * <G> * <c:tensor2>", lambda v: v.value * v.G * v.tensor2),
        c=("<value> * <G> * <b:tensor1>", lambda v: v.value * v.G * v.tensor1),
    ),
    "AddcdivBackward0": each(
        a=_same,
        b=(r"<value> * \frac{<G>}{<c:tensor2>}", lambda v: v.value * v.G / v.tensor2),
        c=(
            r"-<value> * <G> * \frac{<b:tensor1>}{<c:tensor2>^2}",
            lambda v: -v.value * v.G * v.tensor1 / v.tensor2**2,
        ),
    ),
    "LerpBackward0": each(
        a=("<G> * (1 - <w:weight>)", lambda v: v.G * (1 - v.weight)),
        b=("<G> * <w:weight>", lambda v: v.G * v.weight),
    ),
    "LerpBackward1": each(
        a=("<G> * (1 - <w:weight>)", lambda v: v.G * (1 - v.weight)),
        b=("<G> * <w:weight>", lambda v: v.G * v.weight),
        w=("<G> * (<b:end> - <a>)", lambda v: v.G * (v.end - v.a)),
    ),
    "Atan2Backward0": each(
        a=(r"<G> * \frac{<b>}{<a>^2 + <b>^2}", lambda v: v.G * v.b / (v.a**2 + v.b**2)),
        b=(r"-<G> * \frac{<a>}{<a>^2 + <b>^2}", lambda v: -v.G * v.a / (v.a**2 + v.b**2)),
    ),
    "HypotBackward0": each(
        a=(r"<G> * \frac{<a>}{<y>}", lambda v: v.G * v.a / v.y),
        b=(r"<G> * \frac{<b>}{<y>}", lambda v: v.G * v.b / v.y),
    ),
    "LogaddexpBackward0": each(
        a=(r"\frac{<G>}{1 + e^{<b> - <a>}}", lambda v: v.G * sigmoid(v.a - v.b)),
        b=(r"\frac{<G>}{1 + e^{<a> - <b>}}", lambda v: v.G * sigmoid(v.b - v.a)),
    ),
    "Logaddexp2Backward0": each(
        a=(r"\frac{<G>}{1 + 2^{<b> - <a>}}", lambda v: v.G / (1 + 2 ** (v.b - v.a))),
        b=(r"\frac{<G>}{1 + 2^{<a> - <b>}}", lambda v: v.G / (1 + 2 ** (v.a - v.b))),
    ),
    "XlogyBackward0": each(
        a=(r"<G> * \ln <b>", lambda v: v.G * np.log(v.b)),
        b=(r"<G> * \frac{<a>}{<b>}", lambda v: v.G * v.a / v.b),
    ),
    "RemainderBackward0": each(a=_same),
    "RemainderBackward1": each(
        a=_same,
        b=(
            r"-<G> * \lfloor <a> / <b> \rfloor",
            lambda v: -v.G * np.floor(v.a / v.b),
        ),
    ),
    "FmodBackward0": each(a=_same),
    "FmodBackward1": each(
        a=_same,
        b=(r"-<G> * \operatorname{trunc}(<a> / <b>)", lambda v: -v.G * np.trunc(v.a / v.b)),
    ),
    "CopysignBackward0": each(
        a=(
            r"<G> * \operatorname{sign}(<a>) * \operatorname{sign}(<y>)",
            lambda v: v.G * np.sign(v.a) * np.sign(v.y),
        ),
        b=_zero,
    ),
}

COMPARED: dict[str, Rule] = {
    "MaximumBackward0": each(TIE, a=_ties(">"), b=_ties("<")),
    "MinimumBackward0": each(TIE, a=_ties("<"), b=_ties(">")),
    "FmaxBackward0": each(
        "At a tie the first input gets all.",
        a=(r"<G> * [<a> \ge <b>]", lambda v: v.G * (v.a >= v.b)),
        b=("<G> * [<a> < <b>]", lambda v: v.G * (v.a < v.b)),
    ),
    "FminBackward0": each(
        "At a tie the first input gets all.",
        a=(r"<G> * [<a> \le <b>]", lambda v: v.G * (v.a <= v.b)),
        b=("<G> * [<a> > <b>]", lambda v: v.G * (v.a > v.b)),
    ),
    "ClampBackward0": each(
        a=(_between, _inside),
        b=("<G> * [<a> < <min>]", lambda v: v.G * (v.a < v.min)),
        c=("<G> * [<a> > <max>]", lambda v: v.G * (v.a > v.max)),
    ),
    "ClampBackward1": each(a=(_between, _inside)),
    "ClampMinBackward0": each(a=(_between, _inside)),
    "ClampMinBackward1": each(
        a=(_between, _inside), b=("<G> * [<a> < <min>]", lambda v: v.G * (v.a < v.min))
    ),
    "ClampMaxBackward0": each(a=(_between, _inside)),
    "ClampMaxBackward1": each(
        a=(_between, _inside), b=("<G> * [<a> > <max>]", lambda v: v.G * (v.a > v.max))
    ),
    "WhereBackward0": each(
        "The gradient goes to the side that was chosen.",
        a=("<G> * [<c:condition>]", lambda v: v.G * v.condition),
        b=(r"<G> * [\lnot\, <c:condition>]", lambda v: v.G * ~v.condition),
    ),
    "MaskedFillBackward0": each(
        "What was filled in depends on no input there.",
        a=(r"<G> * [\lnot\, <m:mask>]", lambda v: v.G * ~v.mask),
    ),
    "MaskedFillBackward1": each(
        a=(r"<G> * [\lnot\, <m:mask>]", lambda v: v.G * ~v.mask),
        b=("<G> * [<m:mask>]", lambda v: v.G * v.mask),
    ),
    "NanToNumBackward0": each(
        a=(
            r"<G> * [<a>\ \text{finite}]",
            lambda v: v.G * np.isfinite(v.a),
        )
    ),
    **{
        f"{name}Backward0": each(FLAT, a=_zero)
        for name in ["Sign", "Round", "Floor", "Ceil", "Trunc", "Sgn"]
    },
    "RoundBackward1": each(FLAT, a=_zero),
    "FracBackward0": each(a=_same),
}


RULES: dict[str, Rule] = {**ARITHMETIC, **COMPARED}
