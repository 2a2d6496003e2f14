"""Operations that make fewer numbers of many; norms and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.trace.rules.rule import Rule, Values, rule

CHOSEN = "The chosen element gets the gradient, the others 0."
SPLIT = "Every element that equals the result gets an equal share: at a tie a convention."


def _spread(v: Values) -> np.ndarray:
    return np.broadcast_to(v.back(v.G), v.shape)


def _not_nan(v: Values) -> np.ndarray:
    return _spread(v) * ~np.isnan(v.a)


def _divided(v: Values) -> str:
    return rf"\frac{{1}}{{{v.count}}} * \operatorname{{expand}}(<G>)"


def _mean_tex(v: Values) -> str:
    return rf"\frac{{<G>}}{{{v.count}}} * \mathbf{{1}}"


def _chosen(v: Values) -> np.ndarray:
    """G at the places `indices` names along the reduced axis."""
    axis = v.axes[0]
    out = np.zeros(v.shape)
    if not v.shape:
        return v.G.reshape(())
    np.put_along_axis(out, v.back(v.indices), v.back(v.G), axis)
    return out


def _shared(result: str) -> Any:
    def value(v: Values) -> np.ndarray:
        mask = v.a == v.back(getattr(v, result))
        return _spread(v) * mask / mask.sum(axis=v.axes, keepdims=True)

    return value


def _share_tex(v: Values) -> str:
    return r"\frac{<G>}{\#\{<a> = <y>\}} * [<a> = <y>]"


def _prod(v: Values) -> np.ndarray:
    """G times the product of the other elements; right with zeros too."""
    axes, a = v.axes, v.a
    if "dim" not in v.saved:
        flat = a.reshape(-1)
        each = [np.prod(np.delete(flat, i)) for i in range(flat.size)]
        return v.G * np.array(each).reshape(a.shape)
    moved = np.moveaxis(a, axes[0], -1)
    others = np.stack([np.prod(np.delete(moved, i, -1), -1) for i in range(moved.shape[-1])], -1)
    return _spread(v) * np.moveaxis(others, -1, axes[0])


def _variance(v: Values) -> np.ndarray:
    correction = 1 if v.saved.get("correction") is None else v.correction
    centred = v.a - v.a.mean(axis=v.axes, keepdims=True)
    return _spread(v) * 2 * centred / (v.count - correction)


def _variance_tex(v: Values) -> str:
    correction = 1 if v.saved.get("correction") is None else v.saved["correction"]
    return rf"<G> * \frac{{2 * (<a> - \bar{{a}})}}{{{v.count} - {correction}}}"


def _deviation_tex(name: str) -> Any:
    def tex(v: Values) -> str:
        correction = 1 if v.saved.get("correction") is None else v.saved["correction"]
        return rf"<G> * \frac{{<a> - \bar{{a}}}}{{({v.count} - {correction}) * <y:{name}>}}"

    return tex


def _deviation(name: str) -> Any:
    return lambda v: _variance(v) / (2 * v.back(getattr(v, name)))


def _norm_order(v: Values) -> float:
    order = v.saved.get("ord", v.saved.get("p", 2))
    return 2.0 if order is None else float(order)


def _norm_tex(v: Values) -> str:
    order = _norm_order(v)
    if order == 2:
        return r"<G> * \frac{<a>}{<y>}"
    if order == 1:
        return r"<G> * \operatorname{sign}(<a>)"
    if np.isinf(order):
        return r"\frac{<G> * \operatorname{sign}(<a>)}{\#\{|<a>| = <y>\}} * [|<a>| = <y>]"
    p = f"{order:g}"
    return rf"<G> * \frac{{<a> * |<a>|^{{{p} - 2}}}}{{<y>^{{{p} - 1}}}}"


def norm_gradient(v: Values, a: np.ndarray, y: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """The gradient of a p-norm `y` of `a` (both broadcastable); 0 where the norm is 0."""
    order = _norm_order(v)
    if order == 0:
        return np.zeros(a.shape)
    if order == 1:
        return grad * np.sign(a)
    if np.isinf(order):
        mask = np.abs(a) == y
        return grad * np.sign(a) * mask / mask.sum(axis=v.axes, keepdims=True)
    safe = np.where(y == 0, 1.0, y)
    powers = np.where(a == 0, 0.0, np.abs(np.where(a == 0, 1.0, a)) ** (order - 2))
    return np.where(y == 0, 0.0, grad * a * powers / safe ** (order - 1))


def _norm(v: Values) -> np.ndarray:
    return norm_gradient(v, v.a, v.back(v.y), v.back(v.G))


def _distance(sign: int) -> Any:
    return lambda v: sign * norm_gradient(v, v.a - v.b, v.y, v.G)


def _softmax(v: Values) -> np.ndarray:
    axis = v.axes[0]
    return v.y * (v.G - (v.G * v.y).sum(axis=axis, keepdims=True))


def _logsumexp(v: Values) -> np.ndarray:
    return _spread(v) * np.exp(v.a - v.back(v.y))


def _aminmax(v: Values) -> np.ndarray:
    total = np.zeros(v.shape)
    for grad, result in zip(v.Gs, (v.min, v.max), strict=True):
        if grad is not None:
            mask = v.a == v.back(result)
            total += v.back(grad) * mask / mask.sum(axis=v.axes, keepdims=True)
    return total


def _moments(value: Any) -> Any:
    """var_mean and std_mean have two results: the gradients of both are added."""

    def both(v: Values) -> np.ndarray:
        spread_of, mean_of = v.Gs
        total = np.zeros(v.shape)
        if spread_of is not None:
            total = total + value(Values([spread_of], v.saved, v.shape))
        if mean_of is not None:
            total = total + np.broadcast_to(v.back(mean_of), v.shape) / v.count
        return total

    return both


def _pick(words: str = CHOSEN) -> Rule:
    return rule(words, a=(r"\operatorname{place}(<G>\ \text{at}\ <i:indices>)", _chosen))


_product = rule("y / a is the product of the others.", a=(r"<G> * \frac{<y>}{<a>}", _prod))
_length = rule("At norm 0 the gradient is taken to be 0.", a=(_norm_tex, _norm))
_share = rule(SPLIT, a=(_share_tex, _shared("result")))

RULES: dict[str, Rule] = {
    "SumBackward0": rule("Each element counts in full.", a=(r"<G> * \mathbf{1}", _spread)),
    "SumBackward1": rule(
        "Each element counts in full.", a=(r"\operatorname{expand}(<G>)", _spread)
    ),
    "MeanBackward0": rule(
        "mean divides by the number of elements.", a=(_mean_tex, lambda v: _spread(v) / v.count)
    ),
    "MeanBackward1": rule(
        "mean divides by the number of elements.", a=(_divided, lambda v: _spread(v) / v.count)
    ),
    "NansumBackward0": rule(
        "NaN counts as 0.",
        a=(
            r"\operatorname{expand}(<G>) * [<a> \ne \text{nan}]",
            lambda v: _spread(v) * ~np.isnan(v.a),
        ),
    ),
    "ProdBackward0": _product,
    "ProdBackward1": _product,
    "MaxBackward0": _pick(),
    "MinBackward0": _pick(),
    "MedianBackward1": _pick(),
    "NanmedianBackward1": _pick(),
    "ModeBackward0": _pick(),
    "KthvalueBackward0": _pick(),
    "MaxBackward1": _share,
    "MinBackward1": _share,
    "AmaxBackward0": _share,
    "AminBackward0": _share,
    "MedianBackward0": rule(CHOSEN, a=(r"<G> * [<a> = <y>]", _shared("result"))),
    "NanmedianBackward0": rule(CHOSEN, a=(r"<G> * [<a> = <y>]", _shared("result"))),
    "AminmaxBackward0": rule(
        SPLIT,
        a=(
            r"G_{\min} * [<a> = <min>] + G_{\max} * [<a> = <max>]",
            _aminmax,
        ),
    ),
    "VarBackward0": rule(a=(_variance_tex, _variance)),
    "VarMeanBackward0": rule(
        r"The mean's gradient is added, divided by the number of elements.",
        a=(
            r"G_{\text{var}} * \frac{2 * (<a> - \bar{a})}{N - c} + \frac{G_{\text{mean}}}{N}",
            _moments(_variance),
        ),
    ),
    "StdBackward0": rule(a=(_deviation_tex("result"), _deviation("result"))),
    "StdMeanBackward0": rule(
        "The mean's gradient is added, divided by the number of elements.",
        a=(
            r"G_{\text{std}} * \frac{<a> - \bar{a}}{(N - c) * <y:result0>}"
            r" + \frac{G_{\text{mean}}}{N}",
            _moments(_deviation("result0")),
        ),
    ),
    "LinalgVectorNormBackward0": rule(
        "At norm 0 the gradient is taken to be 0.", a=(_norm_tex, _norm)
    ),
    **{
        f"NormBackward{i}": rule("At norm 0 the gradient is taken to be 0.", a=(_norm_tex, _norm))
        for i in range(4)
    },
    "DistBackward0": rule(
        "The rule of the p-norm, for the difference of the two.",
        a=(r"<G> * \nabla\|<a> - <b>\|_{<p>}", _distance(1)),
        b=(r"-<G> * \nabla\|<a> - <b>\|_{<p>}", _distance(-1)),
    ),
    "SoftmaxBackward0": rule(
        "The sum runs along the axis of the softmax.",
        a=(r"<y> * (<G> - \textstyle\sum <G> * <y>)", _softmax),
    ),
    "SafeSoftmaxBackward0": rule(
        "The sum runs along the axis of the softmax.",
        a=(r"<y> * (<G> - \textstyle\sum <G> * <y>)", _softmax),
    ),
    "LogSoftmaxBackward0": rule(
        "The sum runs along the axis of the softmax; e^y is the softmax itself.",
        a=(
            r"<G> - e^{<y>} * \textstyle\sum <G>",
            lambda v: v.G - np.exp(v.y) * v.G.sum(axis=v.axes[0], keepdims=True),
        ),
    ),
    "LogsumexpBackward0": rule(
        "The factor is the softmax.", a=(r"<G> * e^{<a> - <y>}", _logsumexp)
    ),
}
