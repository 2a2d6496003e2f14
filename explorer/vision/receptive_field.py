"""Receptive fields, computed from the kernel, stride, padding and dilation of each layer.

Along one axis, output position i of a layer depends on the input positions from
`stride * i + first` to `stride * i + last`. A layer with kernel k, stride s, padding p and
dilation d turns that into

    first' = first - stride * p
    last'  = last  + stride * (d * (k - 1) - p)
    stride' = stride * s

and where branches meet, the widest counts: Araujo, Norris and Sim, "Computing Receptive Fields of
Convolutional Neural Networks", Distill 2019, https://distill.pub/2019/computing-receptive-fields.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from explorer.networks.borrow import borrow_frozen
from explorer.vision.feature_maps import Inputs, Of, first_tensor, to_arguments
from explorer.vision.geometry import Window


@dataclass(frozen=True)
class Axis:
    """One axis of a receptive field, in input pixels; `first` and `last` of position 0 may lie
    outside the image (in the padding), and are infinite if the field is the whole image."""

    stride: float = 1
    first: float = 0
    last: float = 0

    @property
    def size(self) -> float:
        """The length of the field in pixels; infinite for the whole image."""
        return self.last - self.first + 1

    def span(self, position: int, length: int) -> tuple[int, int]:
        """Start and end (not included) of the field of `position`, in an image of this length."""
        if math.isinf(self.size):
            return 0, length
        start, end = self.stride * position + self.first, self.stride * position + self.last + 1
        return int(min(max(start, 0), length)), int(min(max(end, 0), length))

    def through(self, window: Window, axis: int) -> Axis:
        """The same axis after a layer with this window (`axis` 0 for rows, 1 for columns)."""
        before, reach = window.padding[axis][0], window.dilation[axis] * (window.kernel[axis] - 1)
        return Axis(
            self.stride * window.stride[axis],
            self.first - self.stride * before,
            self.last + self.stride * (reach - before),
        )


#: The whole image: after global pooling or a linear layer.
WHOLE = Axis(1, -math.inf, math.inf)


@dataclass(frozen=True)
class ReceptiveField:
    """The input pixels that can affect one position of a layer; `size` is height, width."""

    rows: Axis = Axis()
    columns: Axis = Axis()

    @property
    def size(self) -> tuple[float, float]:
        return self.rows.size, self.columns.size

    def box(self, row: int, column: int, height: int, width: int) -> tuple[int, int, int, int]:
        """Left, top, right, bottom (the last two not included) in a height × width input."""
        top, bottom = self.rows.span(row, height)
        left, right = self.columns.span(column, width)
        return left, top, right, bottom


#: None where it is not known: after an operation that has no rule here.
Field = ReceptiveField | None
EVERYTHING = ReceptiveField(WHOLE, WHOLE)


def receptive_fields(
    model: nn.Module, inputs: Inputs, *, of: Of = "output"
) -> dict[str, tuple[Field, ...]]:
    """The receptive fields of the output (or input) of every layer and block, by its name; one for
    each call.

    Runs the model once on `inputs`. Layers that did not run are left out.
    """
    fields: defaultdict[str, list[Field]] = defaultdict(list)
    with borrow_frozen(model) as loan, _FieldTracker() as tracker:

        def record(name: str) -> Callable[..., None]:
            return lambda module, *values: fields[name].append(tracker.field(values[-1]))

        for name, module in model.named_modules():
            if of == "input":
                loan.keep(module.register_forward_pre_hook(record(name)))
            else:
                loan.keep(module.register_forward_hook(record(name)))
        model(*(tracker.start(tensor) for tensor in to_arguments(inputs)))
    return {name: tuple(calls) for name, calls in fields.items()}


class _FieldTracker(TorchFunctionMode):
    """Computes the receptive field of each operation's result from those of its inputs, in this
    thread."""

    def __init__(self) -> None:
        super().__init__()
        self._fields = WeakTensorKeyDictionary()

    def start(self, tensor: Tensor) -> Tensor:
        """An input of the model: the receptive field of each pixel is the pixel itself."""
        tensor = tensor.detach()
        self._fields[tensor] = ReceptiveField()
        return tensor

    def field(self, values: Any) -> Field:
        tensor = first_tensor(values)
        return None if tensor is None else self._fields.get(tensor)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        # Looked up before the call: an in-place operation changes its own input's field.
        sources = [self._fields[t] for t in _tensors((args, kwargs)) if t in self._fields]
        result = func(*args, **kwargs)
        if sources:
            field = _widest(sources)
            for tensor in _tensors(result):
                self._fields[tensor] = field and _field_after(field, func, args, kwargs, tensor)
        return result


def _field_after(field: ReceptiveField, func: Any, args: Any, kwargs: Any, result: Tensor) -> Field:
    name = func.__name__.strip("_")
    if name in _GLOBAL or field == EVERYTHING:
        return EVERYTHING
    if func in _WINDOWS:
        window = _WINDOWS[func](*args, **kwargs)
        return ReceptiveField(field.rows.through(window, 0), field.columns.through(window, 1))
    if name in _RESHAPING:
        if result.dim() <= 2:
            return EVERYTHING
        return field if result.shape[-2:] == args[0].shape[-2:] else None
    return field if name in _ELEMENTWISE else None


def _widest(fields: list[Field]) -> Field:
    known = [field for field in fields if field is not None]
    if len(known) < len(fields):
        return None
    return ReceptiveField(
        _widest_axis([field.rows for field in known]),
        _widest_axis([field.columns for field in known]),
    )


def _widest_axis(axes: list[Axis]) -> Axis:
    if WHOLE in axes:
        return WHOLE
    first, last = min(axis.first for axis in axes), max(axis.last for axis in axes)
    return Axis(axes[0].stride, first, last)


def _tensors(values: Any) -> list[Tensor]:
    if isinstance(values, Tensor):
        return [values]
    if isinstance(values, dict):
        values = values.values()
    elif not isinstance(values, tuple | list):
        return []
    return [tensor for value in values for tensor in _tensors(value)]


_WINDOWS: dict[Any, Callable[..., Window]] = {
    torch.conv2d: Window.of_convolution,
    F.max_pool2d: Window.of_pooling,
    F.avg_pool2d: Window.of_average,
    F.pad: Window.of_padding,
}
# By name, without leading and trailing underscores: torch.relu, F.relu, x.relu_, x + y, x += y.
_ELEMENTWISE = {
    *("add", "radd", "iadd", "sub", "rsub", "isub", "mul", "rmul", "imul", "div", "truediv"),
    *("relu", "relu6", "hardtanh", "leaky_relu", "elu", "gelu", "silu", "hardswish", "hardsigmoid"),
    *("sigmoid", "tanh", "batch_norm", "dropout", "cat", "clone", "contiguous", "detach", "float"),
}
_RESHAPING = {"flatten", "view", "reshape", "mean", "transpose", "chunk", "split"}
_GLOBAL = {"linear", "adaptive_avg_pool2d", "adaptive_max_pool2d", "softmax"}
