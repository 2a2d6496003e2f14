"""A receptive field: the pixels that can affect each position of a layer, axis by axis.

For every position, the first and the last pixel along each axis are known exactly: what a position
reads of its layer's input is followed back to the image, so borders, padding modes, transposed
convolutions and resizing are in it. Far from the borders, position i usually depends on the pixels
from `stride * i + first` to `stride * i + last`. A layer with kernel k, stride s, padding p and
dilation d turns that into

    first' = first - stride * p
    last'  = last  + stride * (d * (k - 1) - p)
    stride' = stride * s

and where branches meet, the widest counts: Araujo, Norris and Sim, "Computing Receptive Fields of
Convolutional Neural Networks", Distill 2019, https://distill.pub/2019/computing-receptive-fields.

The model runs once; the last part of this file says for each operation of torch what becomes of the
field of its input. (A gradient would not do: it is 0 at dead units, which see their pixels too.)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from explorer.vision.feature_maps import Inputs, Of, observe, to_arguments
from explorer.vision.geometry import (
    Reads,
    Window,
    adaptive_reads,
    make_window,
    padding_reads,
    resized_reads,
)

#: The first and the last pixel that affect a position; the first comes after the last if none does.
Span = tuple[int, int]
_NONE: Span = (1 << 30, -1)


@dataclass(frozen=True)
class Axis:
    """One axis of a receptive field, in input pixels.

    `spans` are those of each position of the layer. `first` and `last` are those of position 0 if
    the image had no borders: infinite if the field is the whole image, NaN if positions differ in
    how much they see.
    """

    spans: tuple[Span, ...]
    stride: float = 1
    first: float = 0
    last: float = 0

    @property
    def size(self) -> float:
        """The length of the field in pixels; infinite for the whole image. If positions differ, the
        longest."""
        size = self.last - self.first + 1
        if math.isnan(size):
            return max(0, *(last - first + 1 for first, last in self.spans))
        return size

    @property
    def is_whole(self) -> bool:
        """Whether every position sees the whole image."""
        return math.isinf(self.first)

    def through(self, reads: Reads, window: Window | None, axis: int) -> Axis:
        """The same axis after a layer that reads its input so; `window` is the one it moves, if it
        moves one (`axis` 0 for rows, 1 for columns)."""
        positions = range(len(reads.positions))
        spans = tuple([_hull([self.spans[p] for p in reads.read(at)]) for at in positions])
        if window is None:
            return Axis(spans, math.nan, math.nan, math.nan)
        before, reach = window.padding[axis][0], window.dilation[axis] * (window.kernel[axis] - 1)
        return Axis(
            spans,
            self.stride * window.stride[axis],
            self.first - self.stride * before,
            self.last + self.stride * (reach - before),
        )

    def joined(self, other: Axis) -> Axis:
        """The widest of both, where two branches meet; an axis of one position is repeated."""
        count = max(len(self.spans), len(other.spans))
        mine, theirs = (a.spans if len(a.spans) > 1 else a.spans * count for a in (self, other))
        pairs = zip(mine, theirs, strict=True)
        spans = tuple([(min(a, c), max(b, d)) for (a, b), (c, d) in pairs])
        if self.is_whole or other.is_whole:
            whole = self if self.is_whole else other
            return replace(whole, spans=spans)
        if self.stride != other.stride:  # also if one is NaN
            return Axis(spans, math.nan, math.nan, math.nan)
        return Axis(spans, self.stride, min(self.first, other.first), max(self.last, other.last))


def _hull(spans: Sequence[Span]) -> Span:
    return min([s[0] for s in spans], default=_NONE[0]), max(
        [s[1] for s in spans], default=_NONE[1]
    )


@dataclass(frozen=True)
class ReceptiveField:
    """The input pixels that can affect each position of a layer; `size` is height, width."""

    rows: Axis
    columns: Axis

    @property
    def size(self) -> tuple[float, float]:
        return self.rows.size, self.columns.size

    @property
    def is_whole(self) -> bool:
        """Whether every position sees the whole image."""
        return self.rows.is_whole and self.columns.is_whole

    def box(self, row: int, column: int) -> tuple[int, int, int, int]:
        """Left, top, right, bottom (the last two not included) of a position's field, within the
        image; zeros if no pixel affects it."""
        (top, bottom), (left, right) = self.rows.spans[row], self.columns.spans[column]
        if top > bottom or left > right:
            return 0, 0, 0, 0
        return left, top, right + 1, bottom + 1


#: None where it is not known: after an operation that has no rule here.
Field = ReceptiveField | None


def receptive_fields(
    model: nn.Module, inputs: Inputs, *, of: Of = "output"
) -> dict[str, tuple[Field, ...]]:
    """The receptive fields of the output (or input) of every layer and block, by its name; one for
    each call.

    Runs the model once on `inputs`. Layers that did not run are left out.
    """
    fields: defaultdict[str, list[Field]] = defaultdict(list)
    with _FieldTracker() as tracker:

        def record(name: str, call: int, tensor: Tensor, args: Any) -> None:
            fields[name].append(tracker.field(tensor))

        started = [tracker.start(tensor) for tensor in to_arguments(inputs)]
        observe(model, started, dict(model.named_modules()), record, of=of)
    return {name: tuple(calls) for name, calls in fields.items()}


@dataclass(frozen=True)
class _Tracked:
    """A tensor's receptive field, and which of its dimensions (counted from the end) are rows and
    columns."""

    field: ReceptiveField
    dims: tuple[int, int] = (-2, -1)


class _FieldTracker(TorchFunctionMode):
    """Computes the receptive field of each operation's result from those of its inputs, in this
    thread."""

    def __init__(self) -> None:
        super().__init__()
        self._tracked = WeakTensorKeyDictionary()

    def start(self, tensor: Tensor) -> Tensor:
        """An input of the model: the receptive field of each pixel is the pixel itself."""
        tensor = tensor.detach()
        if tensor.dim() > 2:
            rows, columns = (Axis(tuple((i, i) for i in range(n))) for n in tensor.shape[-2:])
            self._tracked[tensor] = _Tracked(ReceptiveField(rows, columns))
        return tensor

    def field(self, tensor: Tensor) -> Field:
        tracked = self._tracked.get(tensor)
        return tracked.field if tracked and tracked.dims == (-2, -1) else None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        given = _tensors_in((args, kwargs))
        # Looked up before the call: an in-place operation changes its own input's field.
        sources = [self._tracked[t] for t in given if t in self._tracked]
        before = tuple(given[0].shape) if given else ()
        result = func(*args, **kwargs)
        if sources:
            joined = _join_branches(sources)
            for tensor in _tensors_in(result):
                self._tracked[tensor] = joined and _field_after(
                    joined, func, args, kwargs, before, tensor
                )
        return result


def _field_after(
    of: _Tracked, func: Any, args: Any, kwargs: Any, before: Any, result: Tensor
) -> _Tracked | None:
    """The field of an operation's result, or None. `before` is the shape of its first argument."""
    try:
        after = _applied(of, func, args, kwargs, before, result)
    except (LookupError, TypeError, ValueError):  # it was called in a way that has no rule here
        return None
    if after is None or after.field.is_whole:
        return after
    axes = zip((after.field.rows, after.field.columns), after.dims, strict=True)
    return after if all(len(axis.spans) == result.shape[d] for axis, d in axes) else None


def _applied(
    of: _Tracked, func: Any, args: Any, kwargs: Any, before: Any, result: Tensor
) -> _Tracked | None:
    name = func.__name__.strip("_")
    if of.field.is_whole or name in _GLOBAL:
        return _whole(of, result)
    if name in ("transpose", "permute"):
        return _permuted(of, name, args, kwargs, result.dim())
    if name in ("linear", "layer_norm"):
        given = _by_name(args, kwargs, "input", "normalized_shape")
        mixed = 1 if name == "linear" else len(given["normalized_shape"])
        return _whole(of, result) if min(map(abs, of.dims)) <= mixed else of
    if name in _ELEMENTWISE:
        return of
    if of.dims == (-2, -1) and result.dim() > 2:
        if func in _READS:
            return _Tracked(_READS[func](of.field, before, result.shape, args, kwargs))
        if tuple(result.shape[-2:]) == before[-2:] and name in _RESHAPING:
            return of
    if name in _RESHAPING | _REDUCING:
        gone = result.dim() <= 2 or [result.shape[d] for d in of.dims] == [1, 1]
        return _whole(of, result) if gone else None
    return None


def _whole(of: _Tracked, result: Tensor) -> _Tracked:
    """Every position of this tensor depends on whatever any position did before."""
    sizes = result.shape[-2:] if result.dim() > 2 else (1, 1)
    axes = (
        Axis((_hull(axis.spans),) * count, 1, -math.inf, math.inf)
        for count, axis in zip(sizes, (of.field.rows, of.field.columns), strict=True)
    )
    return _Tracked(ReceptiveField(*axes))


def _join_branches(sources: Sequence[_Tracked | None]) -> _Tracked | None:
    """Where branches meet, each position sees what any of them sees there."""

    def both(a: _Tracked | None, b: _Tracked | None) -> _Tracked | None:
        if a is None or b is None or a.dims != b.dims:
            return None
        try:
            rows, columns = (
                a.field.rows.joined(b.field.rows),
                a.field.columns.joined(b.field.columns),
            )
        except ValueError:  # two sizes that are not those of maps
            return None
        return _Tracked(ReceptiveField(rows, columns), a.dims)

    return reduce(both, sources)


def _permuted(of: _Tracked, name: str, args: Any, kwargs: Any, count: int) -> _Tracked:
    """After its dimensions have changed places."""
    if name == "transpose":
        by_name = _by_name(args, kwargs, "input", "dim0", "dim1")
        a, b = (int(by_name[name]) % count for name in ("dim0", "dim1"))
        order = list(range(count))
        order[a], order[b] = b, a
    else:
        given = args[1:] or (kwargs["dims"],)
        given = given[0] if isinstance(given[0], tuple | list) else given
        order = [int(d) % count for d in given]
    rows, columns = (order.index(d % count) - count for d in of.dims)
    return _Tracked(of.field, (rows, columns))


def _tensors_in(values: Any) -> list[Tensor]:
    """All tensors in nested tuples, lists and dicts."""
    if isinstance(values, Tensor):
        return [values]
    if isinstance(values, dict):
        values = values.values()
    elif not isinstance(values, tuple | list):
        return []
    return [tensor for value in values for tensor in _tensors_in(value)]


#: The field after an operation: of the one before, the shapes before and after, and the arguments.
_Rule = Callable[[ReceptiveField, Any, Any, Any, Any], ReceptiveField]


def _by_name(args: Any, kwargs: Any, *names: str) -> dict[str, Any]:
    """The arguments of a call by the names of its first parameters."""
    return dict(zip(names, args, strict=False)) | kwargs


def _through(
    field: ReceptiveField, rows: Reads, columns: Reads, window: Window | None
) -> ReceptiveField:
    return ReceptiveField(
        field.rows.through(rows, window, 0), field.columns.through(columns, window, 1)
    )


def _sliding(*names: str, transposed: bool = False) -> _Rule:
    """The rule of an operation that moves a window over its input; `names` are its parameters."""

    def rule(field: Any, before: Any, after: Any, args: Any, kwargs: Any) -> ReceptiveField:
        given = _by_name(args, kwargs, *names)
        if "weight" in given:  # a convolution
            kernel, stride = given["weight"].shape[2:], given.get("stride", 1)
        else:
            kernel, stride = given["kernel_size"], given.get("stride")
        window = make_window(kernel, stride, given.get("padding", 0), given.get("dilation", 1))
        reads = window.transposed_reads if transposed else window.reads
        rows, columns = (reads(axis, before[axis - 2], after[axis - 2]) for axis in (0, 1))
        return _through(field, rows, columns, None if transposed else window)

    return rule


def _pad(field: ReceptiveField, before: Any, after: Any, args: Any, kwargs: Any) -> ReceptiveField:
    given = _by_name(args, kwargs, "input", "pad", "mode")
    left, right, top, bottom = (*given["pad"], 0, 0)[:4]
    mode = given.get("mode", "constant")
    window = Window((1, 1), padding=((top, bottom), (left, right)))
    rows = padding_reads(before[-2], top, bottom, mode)
    return _through(field, rows, padding_reads(before[-1], left, right, mode), window)


def _adaptive(field: ReceptiveField, before: Any, after: Any, *_: Any) -> ReceptiveField:
    def axis(old: Axis, length: int, count: int) -> Axis:
        k = length // count
        window = None if length % count else Window((k, k), (k, k))
        reads = adaptive_reads(length, count)
        new = old.through(reads, window, 0)
        return replace(new, first=-math.inf, last=math.inf) if count == 1 else new

    return ReceptiveField(
        axis(field.rows, before[-2], after[-2]), axis(field.columns, before[-1], after[-1])
    )


def _resized(
    field: ReceptiveField, before: Any, after: Any, args: Any, kwargs: Any
) -> ReceptiveField:
    given = _by_name(args, kwargs, "input", "size", "scale_factor", "mode", "align_corners")
    scales = given.get("scale_factor")
    scales = scales if isinstance(scales, tuple | list) else (scales,) * 2
    mode, corners = given.get("mode", "nearest"), given.get("align_corners")
    rows, columns = (
        resized_reads(before[i], after[i], mode, corners, scale)
        for i, scale in zip((-2, -1), scales, strict=True)
    )
    return _through(field, rows, columns, None)


_READS: dict[Any, _Rule] = {
    torch.conv2d: _sliding("input", "weight", "bias", "stride", "padding", "dilation"),
    torch.conv_transpose2d: _sliding(
        *("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"),
        transposed=True,
    ),
    F.max_pool2d: _sliding("input", "kernel_size", "stride", "padding", "dilation"),
    F.avg_pool2d: _sliding("input", "kernel_size", "stride", "padding"),
    F.pad: _pad,
    F.adaptive_avg_pool2d: _adaptive,
    F.adaptive_max_pool2d: _adaptive,
    F.interpolate: _resized,
}
# By name, without leading and trailing underscores: torch.relu, F.relu, x.relu_, x + y, x += y.
_ELEMENTWISE = {
    *("add", "radd", "iadd", "sub", "rsub", "isub", "mul", "rmul", "imul", "div", "truediv"),
    *("relu", "relu6", "hardtanh", "leaky_relu", "elu", "gelu", "silu", "hardswish", "hardsigmoid"),
    *("prelu", "selu", "celu", "softplus", "mish", "logsigmoid", "threshold", "clamp", "neg"),
    *("sigmoid", "tanh", "batch_norm", "dropout", "dropout2d", "feature_dropout"),
    *("local_response_norm", "cat", "clone", "contiguous", "detach", "float", "double"),
}
#: These keep maps as long as those keep their size.
_RESHAPING = {
    *("flatten", "view", "reshape", "chunk", "split", "getitem", "unsqueeze", "squeeze"),
    *("channel_shuffle", "mean", "sum", "amax", "max"),
}
_REDUCING = {"flatten", "view", "reshape", "mean", "sum", "amax", "max"}
#: Every position of the result depends on every one of the input.
_GLOBAL = {
    *("softmax", "scaled_dot_product_attention", "multi_head_attention_forward"),
    *("group_norm", "instance_norm"),
}
