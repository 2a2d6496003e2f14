"""Convolution, pooling and normalisation.

Convolution: https://arxiv.org/abs/1603.07285. Batch norm: https://arxiv.org/abs/1502.03167; layer
norm: https://arxiv.org/abs/1607.06450; group norm: https://arxiv.org/abs/1803.08494.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from explorer.trace.rules.rule import NotStated, Rule, Values, rule

TRANSPOSED = r"^{\top}"
POOLED = "Each place of the result gave its gradient to the input that was largest."


def _windows(
    v: Values, kernel: tuple[int, ...], size: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """For each place in the kernel, the padded input's elements that met it."""
    for place in itertools.product(*(range(k) for k in kernel)):
        yield (
            place,
            tuple(
                slice(p * d, p * d + s * (n - 1) + 1, s)
                for p, d, s, n in zip(place, v.dilation, v.stride, size, strict=True)
            ),
        )


def _padded(array: np.ndarray, padding: Sequence[int]) -> np.ndarray:
    """The array with as many zeros around its last axes."""
    lead = [(0, 0)] * (array.ndim - len(padding))
    return np.pad(array, [*lead, *((int(p), int(p)) for p in padding)])


def _cut(padded: np.ndarray, padding: Sequence[int]) -> np.ndarray:
    """Undo `_padded`."""
    sizes = padded.shape[padded.ndim - len(padding) :]
    return padded[_last(slice(p, n - p) for n, p in zip(sizes, padding, strict=True))]


def _conv_input(v: Values) -> np.ndarray:
    """Each gradient is spread over its window, times the kernel."""
    grad, weight = v.G, v.weight
    if v.transposed:
        return _conv_forward(v)
    padded = _padded(np.zeros(v.shape), v.padding)
    for place, where in _windows(v, weight.shape[2:], grad.shape[2:]):
        for gin, gout in _groups(v.shape[1], grad.shape[1], int(v.groups)):
            part = np.tensordot(grad[:, gout], weight[(gout, slice(None), *place)], ([1], [0]))
            padded[(slice(None), gin, *where)] += np.moveaxis(part, -1, 1)
    return _cut(padded, v.padding)


def _conv_forward(v: Values) -> np.ndarray:
    """A transposed convolution spread its input forward; backward it collects."""
    weight, out = v.weight, np.zeros(v.shape)
    padded = _padded(v.G, v.padding)
    for place, where in _windows(v, weight.shape[2:], v.shape[2:]):
        for gin, gout in _groups(v.shape[1], padded.shape[1], int(v.groups)):
            met = padded[(slice(None), gout, *where)]
            part = np.tensordot(met, weight[(gin, slice(None), *place)], ([1], [1]))
            out[:, gin] += np.moveaxis(part, -1, 1)
    return out


def _conv_weight(v: Values) -> np.ndarray:
    """At each place of the kernel, gradient times the input it met, summed."""
    grad, data = (v.input, v.G) if v.transposed else (v.G, v.input)
    padded = _padded(data, v.padding)
    out = np.zeros(v.shape)
    summed = [0, *range(2, grad.ndim)]
    for place, where in _windows(v, v.shape[2:], grad.shape[2:]):
        for gin, gout in _groups(data.shape[1], grad.shape[1], int(v.groups)):
            met = padded[(slice(None), gin, *where)]
            where_out: Any = (gout, slice(None), *place)
            out[where_out] = np.tensordot(grad[:, gout], met, (summed, summed))
    return out


def _groups(inputs: int, outputs: int, groups: int) -> Iterator[tuple[slice, slice]]:
    a, b = inputs // groups, outputs // groups
    for g in range(groups):
        yield slice(g * a, (g + 1) * a), slice(g * b, (g + 1) * b)


def _last(places: Iterable[Any]) -> Any:
    """An index into the last axes."""
    return (Ellipsis, *places)


def _max_pool(v: Values) -> np.ndarray:
    """The saved indices count within one channel."""
    rank = 3 if "3D" in str(v.saved.get(".name")) else 2
    lead, size = v.shape[:-rank], math.prod(v.shape[-rank:])
    channels = np.arange(math.prod(lead)).reshape(*lead, *[1] * rank)
    out = np.zeros(math.prod(v.shape))
    np.add.at(out, channels * size + v.result1, v.G)
    return out.reshape(v.shape)


def _avg_pool(v: Values) -> np.ndarray:
    kernel = [int(k) for k in v.kernel_size]
    stride = [int(s) for s in v.stride] or kernel
    pads = [int(p) for p in v.padding]
    grad, out = v.G, np.zeros(v.shape)
    rank = len(kernel)
    sizes = v.shape[-rank:]
    for place in itertools.product(*(range(n) for n in grad.shape[-rank:])):
        starts = [p * s - q for p, s, q in zip(place, stride, pads, strict=True)]
        ends = [min(a + k, n + q) for a, k, n, q in zip(starts, kernel, sizes, pads, strict=True)]
        inside = [slice(max(a, 0), min(b, n)) for a, b, n in zip(starts, ends, sizes, strict=True)]
        if v.saved.get("divisor_override"):
            count = float(v.divisor_override)
        elif v.count_include_pad:
            count = math.prod(b - a for a, b in zip(starts, ends, strict=True))
        else:
            count = math.prod(s.stop - s.start for s in inside)
        value = grad[_last(place)] / count
        out[_last(inside)] += value.reshape(*value.shape, *[1] * rank)
    return out


def _adaptive(v: Values) -> np.ndarray:
    """An axis that is not pooled has windows of one element."""
    grad, out = v.G, np.zeros(v.shape)
    for place in itertools.product(*(range(n) for n in grad.shape)):
        inside = tuple(
            slice(p * n // m, -(-(p + 1) * n // m))
            for p, n, m in zip(place, v.shape, grad.shape, strict=True)
        )
        out[inside] += grad[place] / math.prod(s.stop - s.start for s in inside)
    return out


def _im2col(v: Values) -> np.ndarray:
    """unfold copies overlapping patches into columns: their gradients are added."""
    kernel, dilation, pads, stride = (
        [int(n) for n in getattr(v, name)]
        for name in ("kernel_size", "dilation", "padding", "stride")
    )
    *lead, channels, height, width = v.shape
    rows, columns = (
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip((height, width), pads, dilation, kernel, stride, strict=True)
    )
    grad = v.G.reshape(*lead, channels, *kernel, rows, columns)
    padded = _padded(np.zeros(v.shape), pads)
    for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
        top, left = i * dilation[0], j * dilation[1]
        down = slice(top, top + stride[0] * (rows - 1) + 1, stride[0])
        right = slice(left, left + stride[1] * (columns - 1) + 1, stride[1])
        padded[..., down, right] += grad[..., i, j, :, :]
    return _cut(padded, pads)


def _nearest(v: Values) -> np.ndarray:
    """Each element was copied to several places: their gradients are added."""
    rank, out = len(v.output_size), np.zeros(v.shape)
    lead = len(v.shape) - rank
    scales = [v.saved.get(n) for n in ("scales", "scales_d", "scales_h", "scales_w")]
    if any(s is not None and s != int(s) for s in scales):
        raise NotStated("a scale factor that is not an integer")
    places = np.indices(v.G.shape)
    for axis in range(lead, len(v.shape)):
        places[axis] = places[axis] * v.shape[axis] // v.G.shape[axis]
    np.add.at(out, tuple(places), v.G)
    return out


# -- normalisation ------------------------------------------------------------------------------


def _layout(v: Values) -> tuple[tuple[int, ...], tuple[int, ...], Any]:
    """The shape in which a normalisation works, the axes it averages, and the weight's shape."""
    name, shape = str(v.saved.get(".name")), v.input.shape
    if "Layer" in name:
        rank = len(v.normalized_shape)
        return shape, tuple(range(len(shape) - rank, len(shape))), shape[len(shape) - rank :]
    channels = (shape[1], *[1] * (len(shape) - 2))
    if "Group" in name:
        split = (shape[0], int(v.group), shape[1] // int(v.group), *shape[2:])
        return split, tuple(range(2, len(split))), channels
    return shape, (0, *range(2, len(shape))), channels


def _standard(v: Values) -> tuple[np.ndarray, np.ndarray]:
    """The normalised input and 1/σ, in the input's shape."""
    shape, axes, _ = _layout(v)
    if v.saved.get("training") is False:
        wide = (v.input.shape[1], *[1] * (v.input.ndim - 2))
        rstd = 1 / np.sqrt(v.running_var + v.eps).reshape(wide)
        return (v.input - v.running_mean.reshape(wide)) * rstd, np.broadcast_to(rstd, shape)
    data = v.input.reshape(shape)
    rstd = 1 / np.sqrt(data.var(axis=axes, keepdims=True) + _eps(v, data, axes))
    hat = (data - data.mean(axis=axes, keepdims=True)) * rstd
    return hat.reshape(v.input.shape), np.broadcast_to(rstd, shape)


def _eps(v: Values, data: np.ndarray, axes: tuple[int, ...]) -> Any:
    """eps is not saved by layer_norm; it is what 1/σ² exceeds the variance by."""
    if "eps" in v.saved:
        return v.eps
    variance = data.var(axis=axes, keepdims=True)
    return 1 / v.result2.reshape(variance.shape) ** 2 - variance


def _normalised(v: Values) -> np.ndarray:
    shape, axes, wide = _layout(v)
    hat, rstd = _standard(v)
    weighted = v.G if v.saved.get("weight") is None else v.G * v.weight.reshape(wide)
    if v.saved.get("training") is False:
        return weighted * rstd
    hat, weighted = hat.reshape(shape), weighted.reshape(shape)
    mean = weighted.mean(axis=axes, keepdims=True)
    along = (weighted * hat).mean(axis=axes, keepdims=True)
    return (rstd * (weighted - mean - hat * along)).reshape(v.shape)


def _weighted_tex(v: Values) -> str:
    return "<G>" if v.saved.get("weight") is None else r"<G> * <\gamma:weight>"


def _over_batch(v: Values, array: np.ndarray) -> np.ndarray:
    """Summed over everything that shares one weight."""
    if "Layer" in str(v.saved.get(".name")):
        return array.sum(axis=tuple(range(array.ndim - len(v.shape))))
    return array.sum(axis=(0, *range(2, array.ndim)))


_norm_rule = rule(
    "x̂ is the normalised input; the means run over what was averaged in the forward pass.",
    x=(
        lambda v: (
            rf"\frac{{{_weighted_tex(v)}}}{{\sigma}}"
            if v.saved.get("training") is False
            else r"\frac{1}{\sigma}(g - \overline{g} - \hat{x} * \overline{g \odot \hat{x}}),"
            rf"\ g = {_weighted_tex(v)}"
        ),
        _normalised,
    ),
    w=(r"\textstyle\sum <G> * \hat{x}", lambda v: _over_batch(v, v.G * _standard(v)[0])),
    b=(r"\textstyle\sum <G>", lambda v: _over_batch(v, v.G)),
)

_max_rule = rule(
    POOLED,
    edge="to the maxima",
    x=(r"\operatorname{add}(<G>\ \text{at}\ \text{the maxima}\ <i:result1>)", _max_pool),
)
_avg_rule = rule(
    "Each input of a window gets an equal share.",
    edge="shared by the window",
    x=(r"\textstyle\sum_{\text{windows}} \frac{<G>}{\text{window size}}", _avg_pool),
)
_adaptive_rule = rule(
    "Each input of a window gets an equal share.",
    edge="shared by the window",
    x=(r"\textstyle\sum_{\text{windows}} \frac{<G>}{\text{window size}}", _adaptive),
)

RULES: dict[str, Rule] = {
    "ConvolutionBackward0": rule(
        "Input: each gradient is spread over its window, times the kernel. Kernel: at each place, "
        "gradient times the input it met, summed over samples and positions. Bias: the sum.",
        x=(
            lambda v: rf"<G> \star{'' if v.transposed else TRANSPOSED} <W:weight>",
            _conv_input,
        ),
        W=(
            lambda v: r"<G> \star <x:input>" if v.transposed else r"<x:input> \star <G>",
            _conv_weight,
        ),
        b=(r"\textstyle\sum <G>", lambda v: v.G.sum(axis=(0, *range(2, v.G.ndim)))),
    ),
    "MaxPool2DWithIndicesBackward0": _max_rule,
    "MaxPool3DWithIndicesBackward0": _max_rule,
    "AdaptiveMaxPool2DBackward0": _max_rule,
    "AdaptiveMaxPool3DBackward0": _max_rule,
    "AvgPool2DBackward0": _avg_rule,
    "AvgPool3DBackward0": _avg_rule,
    "AdaptiveAvgPool2DBackward0": _adaptive_rule,
    "AdaptiveAvgPool3DBackward0": _adaptive_rule,
    "Im2ColBackward0": rule(
        "The patches overlap: their gradients are added.",
        edge="into its place",
        x=(r"\operatorname{fold}(<G>)", _im2col),
    ),
    **{
        f"UpsampleNearest{n}DBackward0": rule(
            "Each number was copied to several places: their gradients are added.",
            edge="summed over the copies",
            x=(r"\textstyle\sum_{\text{copies}} <G>", _nearest),
        )
        for n in (1, 2, 3)
    },
    "NativeLayerNormBackward0": _norm_rule,
    "NativeBatchNormBackward0": _norm_rule,
    "NativeGroupNormBackward0": _norm_rule,
}
