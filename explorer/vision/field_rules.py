"""What each torch operation does to a receptive field."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.vision.field_axes import Axis, ReceptiveField, join
from explorer.vision.geometry import Window, adaptive_reads, padding_reads, resized_reads


@dataclass(frozen=True)
class Tracked:
    """A tensor's receptive field, and which of its dimensions (counted from the end) are rows and
    columns."""

    field: ReceptiveField
    dims: tuple[int, int] = (-2, -1)


def field_after(
    of: Tracked, func: Any, args: Any, kwargs: Any, before: Any, result: Tensor
) -> Tracked | None:
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
    of: Tracked, func: Any, args: Any, kwargs: Any, before: Any, result: Tensor
) -> Tracked | None:
    name = func.__name__.strip("_")
    if of.field.is_whole or name in _GLOBAL:
        return _whole(of, result)
    if name in ("transpose", "permute"):
        return _permuted(of, name, args, kwargs, result.dim())
    if name in ("linear", "layer_norm"):
        mixed = 1 if name == "linear" else len(_argument(args, kwargs, 1, "normalized_shape"))
        return _whole(of, result) if min(map(abs, of.dims)) <= mixed else of
    if name in _ELEMENTWISE:
        return of
    if of.dims == (-2, -1) and result.dim() > 2:
        if func in _READS:
            return Tracked(_READS[func](of.field, before, result.shape, args, kwargs))
        if tuple(result.shape[-2:]) == before[-2:] and name in _RESHAPING:
            return of
    if name in _RESHAPING | _REDUCING:
        gone = result.dim() <= 2 or [result.shape[d] for d in of.dims] == [1, 1]
        return _whole(of, result) if gone else None
    return None


def _whole(of: Tracked, result: Tensor) -> Tracked:
    """Every position of this tensor depends on whatever any position did before."""
    sizes = result.shape[-2:] if result.dim() > 2 else (1, 1)
    axes = (
        Axis((join(axis.spans),) * count, 1, -math.inf, math.inf)
        for count, axis in zip(sizes, (of.field.rows, of.field.columns), strict=True)
    )
    return Tracked(ReceptiveField(*axes))


def join_tracked(sources: Sequence[Tracked | None]) -> Tracked | None:
    """Where branches meet, each position sees what any of them sees there."""

    def both(a: Tracked | None, b: Tracked | None) -> Tracked | None:
        if a is None or b is None or a.dims != b.dims:
            return None
        try:
            rows, columns = (
                a.field.rows.joined(b.field.rows),
                a.field.columns.joined(b.field.columns),
            )
        except ValueError:  # two sizes that are not those of maps
            return None
        return Tracked(ReceptiveField(rows, columns), a.dims)

    return reduce(both, sources)


def _permuted(of: Tracked, name: str, args: Any, kwargs: Any, count: int) -> Tracked:
    """After its dimensions have changed places."""
    if name == "transpose":
        a, b = (int(_argument(args, kwargs, i, f"dim{i - 1}")) % count for i in (1, 2))
        order = list(range(count))
        order[a], order[b] = b, a
    else:
        given = args[1:] or (kwargs["dims"],)
        given = given[0] if isinstance(given[0], tuple | list) else given
        order = [int(d) % count for d in given]
    rows, columns = (order.index(d % count) - count for d in of.dims)
    return Tracked(of.field, (rows, columns))


def _argument(args: Any, kwargs: Any, place: int, name: str) -> Any:
    return args[place] if len(args) > place else kwargs[name]


def tensors_in(values: Any) -> list[Tensor]:
    """All tensors in nested tuples, lists and dicts."""
    if isinstance(values, Tensor):
        return [values]
    if isinstance(values, dict):
        values = values.values()
    elif not isinstance(values, tuple | list):
        return []
    return [tensor for value in values for tensor in tensors_in(value)]


#: The field after an operation: of the one before, the shapes before and after, and the arguments.
_Rule = Callable[[ReceptiveField, Any, Any, Any, Any], ReceptiveField]


def _sliding(window_of: Callable[..., Window], transposed: bool = False) -> _Rule:
    """The rule of an operation that moves a window over its input."""

    def rule(field: Any, before: Any, after: Any, args: Any, kwargs: Any) -> ReceptiveField:
        window = window_of(*args, **kwargs)
        reads = window.transposed_reads if transposed else window.reads
        moved = None if transposed else window
        return ReceptiveField(
            field.rows.through(reads(0, before[-2], after[-2]), moved, 0),
            field.columns.through(reads(1, before[-1], after[-1]), moved, 1),
        )

    return rule


def _pad(field: ReceptiveField, before: Any, after: Any, args: Any, kwargs: Any) -> ReceptiveField:
    def padded(
        input: Tensor, pad: Any, mode: str = "constant", value: Any = None
    ) -> tuple[Any, str]:
        return (*pad, 0, 0)[:4], mode

    (left, right, top, bottom), mode = padded(*args, **kwargs)
    window = Window((1, 1), padding=((top, bottom), (left, right)))
    return ReceptiveField(
        field.rows.through(padding_reads(before[-2], top, bottom, mode), window, 0),
        field.columns.through(padding_reads(before[-1], left, right, mode), window, 1),
    )


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
    def given(
        input: Tensor,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        *other: Any,
        **more: Any,
    ) -> tuple[Any, str, bool | None]:
        scales = scale_factor if isinstance(scale_factor, tuple | list) else (scale_factor,) * 2
        return scales, mode, align_corners

    scales, mode, corners = given(*args, **kwargs)
    rows, columns = (
        resized_reads(before[i], after[i], mode, corners, scale)
        for i, scale in zip((-2, -1), scales, strict=True)
    )
    return ReceptiveField(
        field.rows.through(rows, None, 0), field.columns.through(columns, None, 1)
    )


_READS: dict[Any, _Rule] = {
    torch.conv2d: _sliding(Window.of_convolution),
    torch.conv_transpose2d: _sliding(Window.of_transposed, transposed=True),
    F.max_pool2d: _sliding(Window.of_pooling),
    F.avg_pool2d: _sliding(Window.of_average),
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
