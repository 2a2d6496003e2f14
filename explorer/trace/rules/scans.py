"""Running sums and products, running maxima, sorting: along one axis, order matters."""

from __future__ import annotations

import numpy as np

from explorer.trace.rules.indexing import along
from explorer.trace.rules.rule import Rule, Values, rule


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


RULES: dict[str, Rule] = {
    "TopkBackward0": rule(
        "The chosen elements get the gradient, the others 0.",
        a=(r"\operatorname{place}(<G>\ \text{at}\ <i:indices>)", _running_choice),
    ),
    "SortBackward0": rule(
        "Each gradient returns to where its number came from.",
        a=(r"\operatorname{place}(<G>\ \text{at}\ <i:indices>)", _running_choice),
    ),
    "CummaxBackward0": rule(
        "Added where the running maximum came from.",
        a=(r"\operatorname{add}(<G>\ \text{at}\ <i:indices>)", _running_choice),
    ),
    "CumminBackward0": rule(
        "Added where the running minimum came from.",
        a=(r"\operatorname{add}(<G>\ \text{at}\ <i:indices>)", _running_choice),
    ),
    "LogcumsumexpBackward0": rule(
        "The sum runs over the positions j from i on.",
        a=(r"\textstyle\sum_{j \ge i} G_j\, e^{a_i - y_j}", _logcumsumexp),
    ),
    "CumsumBackward0": rule(
        "Each element is part of all running sums from its place on.",
        a=(r"\textstyle\sum_{j \ge i} <G>_j", lambda v: _reversed_cumsum(v.G, v.axes[0])),
    ),
    "CumprodBackward0": rule(
        "Each element is part of all running products from its place on.",
        a=(r"\frac{1}{a_i} \textstyle\sum_{j \ge i} G_j\, y_j", _cumprod),
    ),
}
