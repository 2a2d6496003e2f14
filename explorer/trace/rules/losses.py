"""Losses. `reduction` is kept as torch's number: 0 none, 1 mean, 2 sum.

Each is defined at https://pytorch.org/docs/stable/nn.html#loss-functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from explorer.trace.rules.functions import sigmoid
from explorer.trace.rules.rule import Rule, Template, Values, each, rule

MEAN = 1


def _n(v: Values) -> int:
    """What `reduction="mean"` divides by; 1 for the others."""
    return int(v.a.size) if v.reduction == MEAN else 1


def _loss(sign: str, tex: Template, slope: Callable[[Values], Any]) -> tuple[Any, Any]:
    """G times the slope of one element's loss, divided by their number if it is a mean."""

    def template(v: Values) -> str:
        size = int(np.prod(v.raw("a").shape))
        front = rf"\frac{{<G>}}{{{size}}}" if v.saved.get("reduction") == MEAN else "<G>"
        weight = "" if v.saved.get("weight") is None else " * <w:weight>"
        return f"{sign}{front}{weight} * {tex if isinstance(tex, str) else tex(v)}"

    factor = -1 if sign else 1
    return template, lambda v: factor * v.G * slope(v) / _n(v)


def _weighted(v: Values, slope: np.ndarray) -> np.ndarray:
    return slope if v.saved.get("weight") is None else slope * v.weight


def _huber(v: Values) -> np.ndarray:
    return np.clip(v.a - v.target, -v.delta, v.delta)


def _smooth(v: Values) -> np.ndarray:
    return np.clip((v.a - v.target) / v.beta, -1, 1)


def _logits(v: Values) -> np.ndarray:
    p = 1.0 if v.saved.get("pos_weight") is None else v.pos_weight
    scale = 1 + (p - 1) * v.target
    return _weighted(v, (1 - v.target) - scale * (1 - sigmoid(v.a)))


def _logits_tex(v: Values) -> str:
    if v.saved.get("pos_weight") is None:
        return r"(\sigma(<a>) - <t:target>)"
    right = r"<p:pos_weight> * <t:target> * (1 - \sigma(<a>))"
    return rf"((1 - <t:target>) * \sigma(<a>) - {right})"


def _logits_target_tex(v: Values) -> str:
    if v.saved.get("pos_weight") is None:
        return "(-<a>)"
    return r"(\ln(1 - \sigma(<a>)) - <p:pos_weight> * \ln\sigma(<a>))"


def _logits_target(v: Values) -> np.ndarray:
    p = 1.0 if v.saved.get("pos_weight") is None else v.pos_weight
    return _weighted(v, -v.a + (p - 1) * np.logaddexp(0, -v.a))


def _nll(v: Values) -> np.ndarray:
    """The gradient of the log-probabilities: only the target's place is not 0."""
    axis = min(v.a.ndim - 1, 1)
    classes = np.arange(v.a.shape[axis])
    classes = classes.reshape(classes.size, *[1] * (v.a.ndim - 1 - axis))
    target = np.expand_dims(v.target, axis)
    chosen = (classes == target) & (target != v.ignore_index)
    weight = 1.0 if v.saved.get("weight") is None else v.weight.reshape(classes.shape)
    grad = np.expand_dims(v.G, axis) if v.G.ndim else v.G
    divisor = v.total_weight if v.reduction == MEAN else 1.0
    return np.where(chosen, -grad * weight / divisor, 0.0)


def _nll_tex(v: Values) -> str:
    weight = "" if v.saved.get("weight") is None else " * <w:weight>"
    divided = r"-\frac{<G>}{<N:total_weight>}" if v.saved.get("reduction") == MEAN else "-<G>"
    ignored = r" * [<t:target> \ne <ignore_index>]" if np.any(v.target == v.ignore_index) else ""
    return rf"{divided}{weight} * [c = <t:target>]{ignored}"


_nll_rule = rule(
    "c counts the classes: only the log-probability of each right class gets a gradient.",
    a=(_nll_tex, _nll),
)

RULES: dict[str, Rule] = {
    "MseLossBackward0": each(
        a=_loss("", "2 * (<a> - <t:target>)", lambda v: 2 * (v.a - v.target)),
        t=_loss("-", "2 * (<a> - <t:target>)", lambda v: 2 * (v.a - v.target)),
    ),
    "HuberLossBackward0": each(
        a=_loss("", r"\operatorname{clamp}(<a> - <t:target>, \pm<delta>)", _huber),
        t=_loss("-", r"\operatorname{clamp}(<a> - <t:target>, \pm<delta>)", _huber),
    ),
    "SmoothL1LossBackward0": each(
        a=_loss("", r"\operatorname{clamp}(\tfrac{<a> - <t:target>}{<beta>}, \pm 1)", _smooth),
        t=_loss("-", r"\operatorname{clamp}(\tfrac{<a> - <t:target>}{<beta>}, \pm 1)", _smooth),
    ),
    "SoftMarginLossBackward0": each(
        a=_loss(
            "-",
            r"\frac{<t:target>}{1 + e^{<t:target> * <a>}}",
            lambda v: v.target * sigmoid(-v.target * v.a),
        )
    ),
    "BinaryCrossEntropyBackward0": each(
        a=_loss(
            "",
            r"\frac{<a> - <t:target>}{<a> * (1 - <a>)}",
            lambda v: _weighted(v, (v.a - v.target) / (v.a * (1 - v.a))),
        ),
        t=_loss(
            "",
            r"\ln\frac{1 - <a>}{<a>}",
            lambda v: _weighted(v, np.log(1 - v.a) - np.log(v.a)),
        ),
    ),
    "BinaryCrossEntropyWithLogitsBackward0": each(
        "The sigmoid and the logarithm cancel: prediction minus target.",
        a=_loss("", _logits_tex, _logits),
        t=_loss("", _logits_target_tex, _logits_target),
    ),
    "NllLossBackward0": _nll_rule,
    "NllLoss2DBackward0": _nll_rule,
}
