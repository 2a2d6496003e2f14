"""Functions of one number, applied to each element.

Derivatives: https://en.wikipedia.org/wiki/Differentiation_rules. Activations:
https://pytorch.org/docs/stable/nn.functional.html; gelu, https://arxiv.org/abs/1606.08415; silu and
mish, https://arxiv.org/abs/1908.08681; selu, https://arxiv.org/abs/1706.02515.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from explorer.trace.rules.rule import Rule, Values, each, rule

KINK = "At 0 the derivative is taken to be 0: a convention."


def special(function: Callable[..., torch.Tensor], *arrays: Any) -> np.ndarray:
    """A special function numpy does not have, in float64."""
    given = [torch.from_numpy(np.ascontiguousarray(a)) for a in arrays]
    return function(*given).numpy()


def sigmoid(a: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-a))


def phi(a: np.ndarray) -> np.ndarray:
    """The normal distribution's density."""
    return np.exp(-(a**2) / 2) / math.sqrt(2 * math.pi)


def Phi(a: np.ndarray) -> np.ndarray:
    """The normal distribution's cumulative function."""
    return 0.5 * (1 + special(torch.erf, a / math.sqrt(2)))


_log2 = math.log(2)
_log10 = math.log(10)

#: One input: the formula and the derivative, both still to be multiplied by G.
_UNARY: dict[str, tuple[str, Callable[[Values], Any]]] = {
    "Exp": ("<y>", lambda v: v.y),
    "Exp2": (r"<y> * \ln 2", lambda v: v.y * _log2),
    "Expm1": ("(<y> + 1)", lambda v: v.y + 1),
    "Log": (r"\frac{1}{<a>}", lambda v: 1 / v.a),
    "Log2": (r"\frac{1}{<a> * \ln 2}", lambda v: 1 / (v.a * _log2)),
    "Log10": (r"\frac{1}{<a> * \ln 10}", lambda v: 1 / (v.a * _log10)),
    "Log1P": (r"\frac{1}{1 + <a>}", lambda v: 1 / (1 + v.a)),
    "Sqrt": (r"\frac{1}{2 * <y>}", lambda v: 1 / (2 * v.y)),
    "Rsqrt": (r"(-\tfrac{1}{2}) * <y>^3", lambda v: -0.5 * v.y**3),
    "Sin": (r"\cos(<a>)", lambda v: np.cos(v.a)),
    "Cos": (r"(-\sin(<a>))", lambda v: -np.sin(v.a)),
    "Tan": ("(1 + <y>^2)", lambda v: 1 + v.y**2),
    "Sinh": (r"\cosh(<a>)", lambda v: np.cosh(v.a)),
    "Cosh": (r"\sinh(<a>)", lambda v: np.sinh(v.a)),
    "Tanh": ("(1 - <y>^2)", lambda v: 1 - v.y**2),
    "Asin": (r"\frac{1}{\sqrt{1 - <a>^2}}", lambda v: 1 / np.sqrt(1 - v.a**2)),
    "Acos": (r"\frac{-1}{\sqrt{1 - <a>^2}}", lambda v: -1 / np.sqrt(1 - v.a**2)),
    "Atan": (r"\frac{1}{1 + <a>^2}", lambda v: 1 / (1 + v.a**2)),
    "Asinh": (r"\frac{1}{\sqrt{<a>^2 + 1}}", lambda v: 1 / np.sqrt(v.a**2 + 1)),
    "Acosh": (r"\frac{1}{\sqrt{<a>^2 - 1}}", lambda v: 1 / np.sqrt(v.a**2 - 1)),
    "Atanh": (r"\frac{1}{1 - <a>^2}", lambda v: 1 / (1 - v.a**2)),
    "Sinc": (
        r"(\frac{\cos(\pi <a>)}{<a>} - \frac{\sin(\pi <a>)}{\pi <a>^2})",
        lambda v: np.cos(np.pi * v.a) / v.a - np.sin(np.pi * v.a) / (np.pi * v.a**2),
    ),
    "Erf": (
        r"\tfrac{2}{\sqrt{\pi}} e^{-<a>^2}",
        lambda v: 2 / math.sqrt(math.pi) * np.exp(-(v.a**2)),
    ),
    "Erfc": (
        r"(-\tfrac{2}{\sqrt{\pi}} e^{-<a>^2})",
        lambda v: -2 / math.sqrt(math.pi) * np.exp(-(v.a**2)),
    ),
    "Erfinv": (
        r"\tfrac{\sqrt{\pi}}{2} e^{\operatorname{erfinv}(<a>)^2}",
        lambda v: math.sqrt(math.pi) / 2 * np.exp(special(torch.erfinv, v.a) ** 2),
    ),
    "Lgamma": (r"\psi(<a>)", lambda v: special(torch.digamma, v.a)),
    "Digamma": (r"\psi'(<a>)", lambda v: special(lambda t: torch.polygamma(1, t), v.a)),
    "I0": ("I_1(<a>)", lambda v: special(torch.special.i1, v.a)),
    "SpecialEntr": (r"(-\ln <a> - 1)", lambda v: -np.log(v.a) - 1),
    "Deg2Rad": (r"\tfrac{\pi}{180}", lambda v: math.pi / 180),
    "Rad2Deg": (r"\tfrac{180}{\pi}", lambda v: 180 / math.pi),
    "Sigmoid": ("<y> * (1 - <y>)", lambda v: v.y * (1 - v.y)),
    "LogSigmoid": (r"\frac{1}{1 + e^{<a>}}", lambda v: sigmoid(-v.a)),
    "Silu": (
        r"\sigma(<a>) * (1 + <a> * (1 - \sigma(<a>)))",
        lambda v: sigmoid(v.a) * (1 + v.a * (1 - sigmoid(v.a))),
    ),
    "Threshold": ("[<a> > <threshold>]", lambda v: v.a > v.threshold),
    "Hardtanh": (r"[<min_val> < <a> < <max_val>]", lambda v: (v.a > v.min_val) & (v.a < v.max_val)),
    "Hardsigmoid": (r"\tfrac{1}{6} * [-3 < <a> < 3]", lambda v: (np.abs(v.a) < 3) / 6),
    "Hardswish": (
        r"([<a> \ge 3] + [-3 < <a> < 3] * \tfrac{2 <a> + 3}{6})",
        lambda v: (v.a >= 3) + (np.abs(v.a) < 3) * (2 * v.a + 3) / 6,
    ),
    "Hardshrink": ("[|<a>| > <lambd>]", lambda v: np.abs(v.a) > v.lambd),
    "Softshrink": ("[|<a>| > <lambd>]", lambda v: np.abs(v.a) > v.lambd),
    "Mish": (
        r"(\omega + <a> * (1 - \omega^2) * \sigma(<a>)),\ \omega = \tanh(\ln(1 + e^{<a>}))",
        lambda v: (
            np.tanh(np.logaddexp(0, v.a))
            + v.a * (1 - np.tanh(np.logaddexp(0, v.a)) ** 2) * sigmoid(v.a)
        ),
    ),
    "LeakyRelu": (
        "([<a> > 0] + <negative_slope> * [<a> \\le 0])",
        lambda v: np.where(v.a > 0, 1.0, v.negative_slope),
    ),
    "Celu": (
        r"([<a> > 0] + [<a> \le 0] * e^{<a> / <alpha>})",
        lambda v: np.exp(np.minimum(v.a, 0) / v.alpha),
    ),
    "Polygamma": (
        r"\psi^{(<n:n> + 1)}(<a>)",
        lambda v: special(lambda t: torch.polygamma(v.saved["n"] + 1, t), v.a),
    ),
    "SpecialLogNdtr": (
        r"\frac{\varphi(<a>)}{\Phi(<a>)}",
        lambda v: phi(v.a) / Phi(v.a),
    ),
}


def _softplus(v: Values) -> np.ndarray:
    return v.G * np.where(v.a * v.beta > v.threshold, 1.0, sigmoid(v.beta * v.a))


def _softplus_tex(v: Values) -> str:
    """Beyond the threshold torch takes the straight line; said where an element is there."""
    if not np.any(v.a * v.beta > v.threshold):
        return r"<G> * \sigma(<beta> * <a>)"
    below = r"\sigma(<beta> * <a>) * [<beta> * <a> \le <threshold>]"
    return rf"<G> * ({below} + [<beta> * <a> > <threshold>])"


def _logit(v: Values) -> np.ndarray:
    low = 0.0 if v.saved.get("eps") is None else v.eps
    inside = (v.a >= low) & (v.a <= 1 - low)
    return v.G * np.where(inside, 1 / (v.a * (1 - v.a)), 0.0)


def _logit_tex(v: Values) -> str:
    inside = "" if v.saved.get("eps") is None else r" * [<eps> \le <a> \le 1 - <eps>]"
    return r"<G> * \frac{1}{<a> * (1 - <a>)}" + inside


def _gelu(v: Values) -> np.ndarray:
    if v.approximate == "none":
        return v.G * (Phi(v.a) + v.a * phi(v.a))
    k = math.sqrt(2 / math.pi)
    t = np.tanh(k * (v.a + 0.044715 * v.a**3))
    return v.G * (0.5 * (1 + t) + 0.5 * v.a * (1 - t**2) * k * (1 + 3 * 0.044715 * v.a**2))


def _elu(v: Values) -> np.ndarray:
    return v.G * v.scale * np.where(v.a > 0, 1.0, v.alpha * np.exp(v.a))


def _glu(v: Values) -> np.ndarray:
    axis = v.axes[0]
    first, gate = np.split(v.a, 2, axis)
    s = sigmoid(gate)
    return np.concatenate([v.G * s, v.G * first * s * (1 - s)], axis)


SHAPED: dict[str, Rule] = {
    "GeluBackward0": each(
        a=(
            lambda v: (
                r"<G> * (\Phi(<a>) + <a> * \varphi(<a>))"
                if v.approximate == "none"
                else r"<G> * (\tfrac{1 + t}{2} + \tfrac{<a>}{2} * (1 - t^2) * u'),\ t = \tanh(u),\ "
                r"u = \sqrt{2/\pi}\,(<a> + 0.044715\, <a>^3),\ "
                r"u' = \sqrt{2/\pi}\,(1 + 0.134145\, <a>^2)"
            ),
            _gelu,
        )
    ),
    "EluBackward0": each(
        a=(
            r"<G> * <s:scale> * ([<a> > 0] + [<a> \le 0] * <\alpha:alpha> * e^{<a>})",
            _elu,
        )
    ),
    "PreluKernelBackward0": each(
        a=(
            r"<G> * ([<a> > 0] + <w:weight> * [<a> \le 0])",
            lambda v: v.G * np.where(v.a > 0, 1.0, v.weight),
        ),
        w=(r"<G> * <a> * [<a> \le 0]", lambda v: v.G * np.minimum(v.a, 0)),
    ),
    "RreluWithNoiseBackward0": each(
        a=(
            lambda v: (
                "<G> * <r:noise>"
                if v.training
                else r"<G> * ([<a> > 0] + \tfrac{<lower> + <upper>}{2} * [<a> \le 0])"
            ),
            lambda v: (
                v.G * v.noise
                if v.training
                else v.G * np.where(v.a > 0, 1.0, (v.lower + v.upper) / 2)
            ),
        )
    ),
    "SoftplusBackward0": each(a=(_softplus_tex, _softplus)),
    "LogitBackward0": each(a=(_logit_tex, _logit)),
    "GluBackward0": rule(
        "The first half is a, the second half b of a σ(b).",
        a=(r"\operatorname{cat}(G * \sigma(b),\ G * a * \sigma(b) * (1 - \sigma(b)))", _glu),
    ),
    "NativeDropoutBackward0": each(
        "The same elements are dropped as in the forward pass.",
        a=(
            r"<G> * <m:result1> * \frac{1}{1 - <p>}",
            lambda v: np.where(v.result1, v.G / (1 - v.p), 0.0),
        ),
    ),
}

RULES: dict[str, Rule] = {
    **{
        f"{name}Backward0": each(a=(f"<G> * {tex}", lambda v, d=derivative: v.G * d(v)))
        for name, (tex, derivative) in _UNARY.items()
    },
    **SHAPED,
    "ReluBackward0": each(
        KINK,
        a=("<G> * [<y> > 0]", lambda v: v.G * (v.y > 0)),
    ),
    "AbsBackward0": each(
        KINK,
        a=(r"<G> * \operatorname{sign}(<a>)", lambda v: v.G * np.sign(v.a)),
    ),
}
