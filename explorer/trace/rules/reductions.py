"""Operations along an axis: sums, maxima, moments, norms, softmax; running sums and sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.trace.rules.indexing import along
from explorer.trace.rules.rule import Rule, Values, rule, sum_to, whole

CHOSEN = "The chosen element gets the gradient, the others 0."
SPLIT = "Every element that equals the result gets an equal share: at a tie a convention."


def _spread(v: Values) -> np.ndarray:
    return np.broadcast_to(v.back(v.G), v.shape)


def _divided(v: Values) -> str:
    return rf"\frac{{1}}{{{v.count}}} * \operatorname{{expand}}(<G>)"


def _divided_words(v: Values) -> str:
    return f"÷ {v.count}"


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


def _shared(v: Values) -> np.ndarray:
    mask = v.a == v.back(v.y)
    return _spread(v) * mask / mask.sum(axis=v.axes, keepdims=True)


def _prod(v: Values) -> np.ndarray:
    """G times the product of the other elements; right with zeros too."""
    axis, a = (v.axes[0], v.a) if "dim" in v.saved else (0, v.a.ravel())
    others = [np.prod(np.delete(a, i, axis), axis) for i in range(a.shape[axis])]
    return _spread(v) * np.stack(others, axis).reshape(v.shape)


def _variance(v: Values) -> np.ndarray:
    centred = v.a - v.a.mean(axis=v.axes, keepdims=True)
    return _spread(v) * 2 * centred / (v.count - _correction(v))


def _correction(v: Values) -> Any:
    """What var and std subtract from the number of elements."""
    return 1 if v.saved.get("correction") is None else v.saved["correction"]


def _variance_tex(v: Values, grad: str = "<G>") -> str:
    return rf"{grad} * \frac{{2 * (<a> - \bar{{a}})}}{{{v.count} - {_correction(v)}}}"


def _deviation_tex(v: Values, grad: str = "<G>", deviation: str = "<y>") -> str:
    divisor = f"({v.count} - {_correction(v)}) * {deviation}"
    return rf"{grad} * \frac{{<a> - \bar{{a}}}}{{{divisor}}}"


def _var_mean_tex(v: Values) -> str:
    return _variance_tex(v, r"G_{\text{var}}") + rf" + \frac{{G_{{\text{{mean}}}}}}{{{v.count}}}"


def _std_mean_tex(v: Values) -> str:
    spread = _deviation_tex(v, r"G_{\text{std}}", "<y:result0>")
    return spread + rf" + \frac{{G_{{\text{{mean}}}}}}{{{v.count}}}"


def _deviation(name: str) -> Any:
    def value(v: Values) -> np.ndarray:
        deviation = v.back(getattr(v, name))
        return np.where(deviation == 0, 0.0, _variance(v) / (2 * deviation))

    return value


def _norm_order(v: Values) -> float:
    order = v.saved["ord" if "ord" in v.saved else "p"]
    return 2.0 if order is None else float(order)


def _norm_tex(v: Values, a: str = "<a>") -> str:
    """The gradient of the p-norm y of `a`."""
    order = _norm_order(v)
    if order == 2:
        return rf"<G> * \frac{{{a}}}{{<y>}}"
    if order == 1:
        return rf"<G> * \operatorname{{sign}}({a})"
    if np.isinf(order):
        largest = rf"|{a}| = <y>"
        return rf"\frac{{<G> * \operatorname{{sign}}({a})}}{{\#\{{{largest}\}}}} * [{largest}]"
    p = f"{order:g}"
    return rf"<G> * \frac{{{a} * |{a}|^{{{p} - 2}}}}{{<y>^{{{p} - 1}}}}"


def _distance_tex(sign: str) -> Any:
    """The norm's formula for d, the difference of the two inputs."""

    def tex(v: Values) -> str:
        return rf"{sign}{_norm_tex(v, 'd')},\ d = <a> - <b>"

    return tex


def norm_gradient(v: Values, a: np.ndarray, y: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """The gradient of a p-norm `y` of `a` (both broadcastable); 0 where the norm is 0."""
    order = _norm_order(v)
    if order == 1:
        return grad * np.sign(a)
    if np.isinf(order):
        mask = np.abs(a) == y
        return grad * np.sign(a) * mask / mask.sum(axis=v.axes, keepdims=True)
    slope = a * np.abs(a) ** (order - 2) / y ** (order - 1)
    return grad * np.where(a == 0, 0.0, slope)


def _norm(v: Values) -> np.ndarray:
    return norm_gradient(v, v.a, v.back(v.y), v.back(v.G))


def _distance(sign: int) -> Any:
    """The difference in the inputs' own precision: the largest one equals the norm."""

    def value(v: Values) -> np.ndarray:
        gradient = norm_gradient(v, whole(v.raw("a") - v.raw("b")), v.y, v.G)
        return sum_to(sign * gradient, v.shape)

    return value


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


def _reversed_cumsum(array: np.ndarray, axis: int) -> np.ndarray:
    return np.flip(np.cumsum(np.flip(array, axis), axis), axis)


def _cumprod(v: Values) -> np.ndarray:
    if np.any(v.a == 0):
        return _cumprod_with_zeros(v)
    return _reversed_cumsum(v.G * v.y, v.axes[0]) / v.a


def _cumprod_with_zeros(v: Values) -> np.ndarray:
    axis = v.axes[0]
    a, grad = np.moveaxis(v.a, axis, -1), np.moveaxis(v.G, axis, -1)
    out = np.zeros(a.shape)
    for i in range(a.shape[-1]):
        without = a.copy()
        without[..., i] = 1
        out[..., i] = (grad * np.cumprod(without, -1))[..., i:].sum(-1)
    return np.moveaxis(out, -1, axis)


def _running_choice(v: Values) -> np.ndarray:
    return along(v.shape, v.indices, v.G, v.axes[0])


def _logcumsumexp(v: Values) -> np.ndarray:
    axis = v.axes[0]
    a, y, grad = (np.moveaxis(x, axis, -1) for x in (v.a, v.y, v.G))
    weights = np.exp(a[..., None, :] - y[..., :, None]) * np.tri(a.shape[-1])
    return np.moveaxis((grad[..., :, None] * weights).sum(-2), -1, axis)


def _pick(words: str = CHOSEN) -> Rule:
    return rule(
        words,
        edge="to the chosen one",
        a=(r"\operatorname{place}(<G>\ \text{at}\ <i:indices>\ \text{of axis}\ <axis>)", _chosen),
    )


_product = rule("y / a is the product of the others.", a=(r"<G> * \frac{<y>}{<a>}", _prod))
_share = rule(
    SPLIT, edge="shared by the chosen", a=(r"\frac{<G>}{\#\{<a> = <y>\}} * [<a> = <y>]", _shared)
)

RULES: dict[str, Rule] = {
    "SumBackward0": rule(
        "Each element receives the full gradient.", edge="copied", a=(r"<G> * \mathbf{1}", _spread)
    ),
    "SumBackward1": rule(
        "Each element receives the full gradient.",
        edge="copied",
        a=(r"\operatorname{expand}(<G>)", _spread),
    ),
    "MeanBackward0": rule(
        "mean divides by the number of elements.",
        edge=_divided_words,
        a=(_mean_tex, lambda v: _spread(v) / v.count),
    ),
    "MeanBackward1": rule(
        "mean divides by the number of elements.",
        edge=_divided_words,
        a=(_divided, lambda v: _spread(v) / v.count),
    ),
    "NansumBackward0": rule(
        "NaN counts as 0.",
        a=(
            r"\operatorname{expand}(<G>) * [<a>\ \text{not nan}]",
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
    "MedianBackward0": _share,
    "NanmedianBackward0": _share,
    "AminmaxBackward0": rule(
        SPLIT,
        edge="to smallest and largest",
        a=(
            r"\frac{G_{\min}}{\#\{<a> = <min>\}} * [<a> = <min>] + "
            r"\frac{G_{\max}}{\#\{<a> = <max>\}} * [<a> = <max>]",
            _aminmax,
        ),
    ),
    "VarBackward0": rule(a=(_variance_tex, _variance)),
    "VarMeanBackward0": rule(
        "The mean's gradient is added, divided by the number of elements.",
        a=(_var_mean_tex, _moments(_variance)),
    ),
    "StdBackward0": rule(
        "At a standard deviation of 0 the gradient is taken to be 0.",
        a=(_deviation_tex, _deviation("result")),
    ),
    "StdMeanBackward0": rule(
        "The mean's gradient is added, divided by the number of elements. At a standard deviation "
        "of 0 the other part is taken to be 0.",
        a=(_std_mean_tex, _moments(_deviation("result0"))),
    ),
    "LinalgVectorNormBackward0": rule(
        "At norm 0 the gradient is taken to be 0.", a=(_norm_tex, _norm)
    ),
    **{
        f"NormBackward{i}": rule("At norm 0 the gradient is taken to be 0.", a=(_norm_tex, _norm))
        for i in range(4)
    },
    "DistBackward0": rule(
        "The rule of the p-norm, for the difference of the two. At norm 0 the gradient is taken "
        "to be 0.",
        a=(_distance_tex(""), _distance(1)),
        b=(_distance_tex("-"), _distance(-1)),
    ),
    "SoftmaxBackward0": rule(
        a=(r"<y> * (<G> - \textstyle\sum_{\text{axis}\ <axis>} <G> * <y>)", _softmax),
    ),
    "SafeSoftmaxBackward0": rule(
        a=(r"<y> * (<G> - \textstyle\sum_{\text{axis}\ <axis>} <G> * <y>)", _softmax),
    ),
    "LogSoftmaxBackward0": rule(
        "e^y is the softmax itself.",
        a=(
            r"<G> - e^{<y>} * \textstyle\sum_{\text{axis}\ <axis>} <G>",
            lambda v: v.G - np.exp(v.y) * v.G.sum(axis=v.axes[0], keepdims=True),
        ),
    ),
    "LogsumexpBackward0": rule(
        "The factor is the softmax.", a=(r"<G> * e^{<a> - <y>}", _logsumexp)
    ),
    "TopkBackward0": rule(
        "The chosen elements get the gradient, the others 0.",
        edge="to the chosen ones",
        a=(
            r"\operatorname{place}(<G>\ \text{at}\ <i:indices>\ \text{of axis}\ <axis>)",
            _running_choice,
        ),
    ),
    "SortBackward0": rule(
        "Each gradient returns to where its number came from.",
        edge="back in order",
        a=(
            r"\operatorname{place}(<G>\ \text{at}\ <i:indices>\ \text{of axis}\ <axis>)",
            _running_choice,
        ),
    ),
    "CummaxBackward0": rule(
        "Each gradient is added at the position of the running maximum.",
        edge="to the chosen ones",
        a=(
            r"\operatorname{add}(<G>\ \text{at}\ <i:indices>\ \text{of axis}\ <axis>)",
            _running_choice,
        ),
    ),
    "CumminBackward0": rule(
        "Added where the running minimum came from.",
        edge="to the chosen ones",
        a=(
            r"\operatorname{add}(<G>\ \text{at}\ <i:indices>\ \text{of axis}\ <axis>)",
            _running_choice,
        ),
    ),
    "LogcumsumexpBackward0": rule(
        "The sum runs over the positions j from i on.",
        a=(r"\textstyle\sum_{j \ge i} G_j\, e^{a_i - y_j}", _logcumsumexp),
    ),
    "CumsumBackward0": rule(
        "Each element is part of all running sums from its place on.",
        edge="summed from the end",
        a=(r"\textstyle\sum_{j \ge i} <G>_j", lambda v: _reversed_cumsum(v.G, v.axes[0])),
    ),
    "CumprodBackward0": rule(
        "Each element is part of all running products from its place on.",
        a=(r"\frac{1}{a_i} \textstyle\sum_{j \ge i} G_j\, y_j", _cumprod),
    ),
}
