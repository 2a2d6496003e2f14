"""Checks of what a child has sent about a reader's network, after the codec has checked its types.

A child can answer anything. `explorer.trace.validation` bounds texts, counts and arrays; this
checks that numbers are finite and that shapes belong together.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from explorer import limits
from explorer.trace import from_plain
from explorer.trace.validation import require
from explorer.trace.validation import validate as validate_sizes
from explorer.vision.feature_maps import FeatureMaps, MapLayer
from explorer.vision.geometry import Reads
from explorer.vision.grad_cam import GradCam
from explorer.vision.layer_arithmetic import KINDS, LayerArithmetic
from explorer.vision.own_network import OwnNetwork, result_type
from explorer.vision.predictions import ChannelAblation
from explorer.vision.receptive_field import Axis
from explorer.vision.saliency import Saliency


def read_run(name: str, plain: Any) -> Any:
    """The result of a run as a child has sent it. Raises an exception, of any type, for what cannot
    be one."""
    return _checked(from_plain(result_type(name), plain))


def read_network(plain: Any) -> OwnNetwork:
    """What is said of a program's network. Raises an exception, of any type, for anything else."""
    network: OwnNetwork = _checked(from_plain(OwnNetwork, plain))
    return network


def _checked(value: Any) -> Any:
    validate_sizes(value, elements=limits.MAP_VALUES)
    _check(value)
    return value


def _check(value: Any) -> None:
    if isinstance(value, np.ndarray):
        require(value.size > 0 and bool(np.isfinite(value).all()), "an array")
    elif isinstance(value, tuple | list):
        for item in value:
            _check(item)
    elif isinstance(value, Mapping):
        _check(tuple(value.values()))
    elif dataclasses.is_dataclass(value):
        _check(tuple(vars(value).values()))
        _RULES.get(type(value), bool)(value)


def _check_network(network: OwnNetwork) -> None:
    least, most = limits.OWN_IMAGE_SIDES
    require(least <= network.side <= most, "side")
    require(network.channels in (1, 3), "channels")
    require(network.classes == 0 or 2 <= network.classes <= limits.MOST_CLASSES, "classes")


def _check_maps(maps: FeatureMaps) -> None:
    require(maps.activations.ndim == 4 and len(maps.activations) == 1, "activations")
    require(maps.activations.dtype.kind == "f", "activations")
    require(0 <= maps.call < maps.calls, "call")


def _check_layer(layer: MapLayer) -> None:
    require(len(layer.inputs) == len(layer.outputs) > 0, "calls")
    for size in (*layer.inputs, *layer.outputs):
        require(all(type(side) is int and 0 <= side <= limits.MAP_SIDE for side in size), "a size")


def _check_axis(axis: Axis) -> None:
    require(math.isnan(axis.stride) or 0 < axis.stride < math.inf, "stride")
    require(len(axis.spans) > 0, "spans")
    for span in axis.spans:
        require(len(span) == 2 and all(type(end) is int for end in span), "spans")


def _check_arithmetic(a: LayerArithmetic) -> None:
    require(a.output.ndim == 2 and a.output.dtype.kind == "f", "output")
    require(all(map(math.isfinite, (a.bias, a.eps, a.weight))), "numbers")
    require(a.kind in KINDS, "kind")
    if not a.kind:
        return
    require(a.inputs is not None and a.inputs.ndim == 3, "inputs")
    assert a.inputs is not None
    require(0 < len(a.inputs) == len(a.channels) <= a.count, "channels")
    kernel = (1 << 30,) * 2 if a.kernels is None else a.kernels.shape[1:]
    if a.kind == "convolution":
        require(a.kernels is not None and len(kernel) == 2, "kernels")
        require(a.kernels is not None and len(a.kernels) == len(a.inputs), "kernels")
        require(a.rest is None or a.rest.shape == a.output.shape, "rest")
    if a.kind == "normalization":
        for values in (a.mean, a.variance):
            require(values is not None and values.shape in ((1, 1), a.output.shape), "statistics")
    if a.kind == "average":
        for counts, count in zip((a.row_counts, a.column_counts), a.output.shape, strict=True):
            require(len(counts) == count and all(type(n) is int and n for n in counts), "counts")
    for axis, reads in enumerate((a.rows, a.columns)):
        _check_reads(reads, a.inputs.shape[1 + axis], a.output.shape[axis], kernel[axis])


def _check_reads(reads: Reads, length: int, count: int, taps: int) -> None:
    """`count` outputs read an input of this length through a kernel with so many rows."""
    require(len(reads.positions) == len(reads.taps) == count, "positions")
    require(0 < len(reads.sources) <= limits.PADDED_SIDE and type(reads.before) is int, "sources")
    require(all(type(s) is int and -1 <= s < length for s in reads.sources), "sources")
    for positions, used in zip(reads.positions, reads.taps, strict=True):
        require(len(positions) == len(used), "positions")
        require(all(0 <= p + reads.before < len(reads.sources) for p in positions), "positions")
        require(all(type(t) is int and 0 <= t < taps for t in used), "taps")


def _check_cam(cam: GradCam) -> None:
    require(cam.map.ndim == cam.over_input.ndim == 2, "map")


def _check_saliency(saliency: Saliency) -> None:
    require(saliency.gradient.ndim == 3, "gradient")


def _check_ablation(ablation: ChannelAblation) -> None:
    before, after = ablation.scores_before, ablation.scores_after
    require(before.ndim == 1 and before.shape == after.shape, "scores")


#: What is checked of each kind of result, besides its numbers.
_RULES: Mapping[type, Callable[[Any], object]] = {
    OwnNetwork: _check_network,
    FeatureMaps: _check_maps,
    MapLayer: _check_layer,
    Axis: _check_axis,
    LayerArithmetic: _check_arithmetic,
    GradCam: _check_cam,
    Saliency: _check_saliency,
    ChannelAblation: _check_ablation,
}
