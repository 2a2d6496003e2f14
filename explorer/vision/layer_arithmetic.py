"""How every value of one channel of a layer is computed, so that a pointer can move over the map.

A browser gets these numbers once for a channel; then it shows the arithmetic of any position by
itself. What is said is first compared with what the layer computed, over the whole map.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer import limits
from explorer.networks.borrow import borrow_frozen
from explorer.vision.feature_maps import (
    Inputs,
    first_tensor,
    get_layer,
    nth_call,
    to_arguments,
)
from explorer.vision.geometry import NOTHING_READ, Reads, Window, adaptive_reads, padding_reads

#: So few input channels are all kept: an image has as many.
_COLOURS = 3
#: The kinds of arithmetic, and none.
KINDS = ("convolution", "maximum", "average", "normalization", "function", "")
#: What is said may differ from what the layer computed by this share of the largest number: some
#: devices multiply with fewer digits.
_TOLERANCE = 2e-3


@dataclass(frozen=True)
class LayerArithmetic:
    """How the values of one channel of a layer's output are computed from the layer's input.

    Each value at a row and a column is made of the input positions in `rows` and `columns`:

    - "convolution": `bias`, plus the products of `kernels` and the window in each of `inputs`
      (kept × height × width), plus `rest` (height × width, or None), which is what all other input
      channels add there. `channels` are the numbers of those kept, the strongest first, of `count`.
    - "maximum", "average": of the window; an average divides by `row_counts` × `column_counts`.
    - "normalization": (x − mean) / √(variance + eps) · weight + bias, where `mean` and `variance`
      are one number (1 × 1) or differ by position (height × width).
    - "function": `formula` of x, the value at the same position.
    - "": not known.

    `output` is what the layer computed. Everything else about it is float32 as well.
    """

    layer: str
    type: str
    channel: int
    output: np.ndarray
    kind: str = ""
    inputs: np.ndarray | None = None
    channels: tuple[int, ...] = ()
    count: int = 0
    rest: np.ndarray | None = None
    kernels: np.ndarray | None = None
    bias: float = 0.0
    rows: Reads = NOTHING_READ
    columns: Reads = NOTHING_READ
    row_counts: tuple[int, ...] = ()
    column_counts: tuple[int, ...] = ()
    mean: np.ndarray | None = None
    variance: np.ndarray | None = None
    eps: float = 0.0
    weight: float = 1.0
    formula: str = ""


def layer_arithmetic(
    model: nn.Module,
    inputs: Inputs,
    layer: str,
    channel: int,
    *,
    call: int = 0,
    room: int = limits.POINTER_BYTES,
) -> LayerArithmetic:
    """How one channel of a layer's output is computed, for the first image of the batch.

    Runs the model up to that call. Of a convolution's input, as many channels are kept as fit into
    `room` bytes. Raises ValueError if the layer, the call or the channel does not exist, or its
    output is no set of maps.
    """
    module = get_layer(model, layer)
    image, output = _run_layer(model, inputs, module, layer, call)
    if output.dim() != 3 or not 0 <= channel < len(output):
        raise ValueError(f"The output of {layer!r} has no map {channel}.")
    common: dict[str, Any] = {
        "layer": layer,
        "type": type(module).__name__,
        "channel": channel,
        "output": output[channel].numpy().copy(),
    }
    kinds = (explain for kind, explain in _EXPLAIN.items() if isinstance(module, kind))
    explain = next(kinds, None)
    parts = explain(module, image, channel, output) if explain and image.dim() == 3 else None
    if parts is None:
        return LayerArithmetic(**common)
    computed, scale = parts.pop("computed"), parts.pop("scale", 0.0)
    if not _agree(computed, common["output"], scale):
        return LayerArithmetic(**common)
    if parts["kind"] == "convolution":
        parts = _keep_strongest(parts, room)
    return LayerArithmetic(**common, **parts)


class _Done(Exception):
    """The layer has run; the rest of the network need not."""


def _run_layer(
    model: nn.Module, inputs: Inputs, module: nn.Module, layer: str, call: int
) -> tuple[Tensor, Tensor]:
    """Input and output of one call of a layer for the first image, copied before anything changes
    them in place."""
    waiting: list[Tensor] = []
    calls: list[tuple[Tensor, Tensor]] = []

    def before(module: nn.Module, args: Any, kwargs: Any) -> None:
        tensor = first_tensor((args, kwargs))
        waiting[:] = [torch.zeros(()) if tensor is None else _first_image(tensor)]

    def after(module: nn.Module, args: Any, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is not None:
            calls.append((waiting[0], _first_image(tensor)))
        if len(calls) > call:
            raise _Done

    with borrow_frozen(model) as loan:
        loan.keep(module.register_forward_pre_hook(before, with_kwargs=True))
        loan.keep(module.register_forward_hook(after))
        with suppress(_Done):
            model(*to_arguments(inputs))
    return nth_call(calls, layer, call)


def _first_image(tensor: Tensor) -> Tensor:
    """A copy on the CPU, in float32, of what belongs to the first image."""
    first = tensor[0] if tensor.dim() else tensor
    return first.detach().clone().cpu().float()


def _agree(computed: np.ndarray, output: np.ndarray, scale: float) -> bool:
    if computed.shape != output.shape:
        return False
    largest = max(float(abs(output).max(initial=0)), scale)
    return bool(
        np.allclose(computed, output, rtol=0, atol=_TOLERANCE * largest + 1e-6, equal_nan=True)
    )


def _keep_strongest(parts: dict[str, Any], room: int) -> dict[str, Any]:
    """Put the input channels that contribute most first, and leave out those without room."""
    contributions: Tensor = parts.pop("contributions")
    strength = contributions.abs().mean((1, 2)).numpy()
    order = np.argsort(-strength, kind="stable")
    images, first = parts["inputs"], parts.pop("first")
    most = max(1, room // max(1, images[0].nbytes))
    kept = order if len(order) <= _COLOURS else order[:most]
    left_out = order[len(kept) :]
    rest = contributions[left_out].sum(0, dtype=torch.float64).float().numpy()
    return parts | {
        "inputs": images[kept],
        "kernels": parts["kernels"][kept],
        "channels": tuple((first + kept).tolist()),
        "count": len(order),
        "rest": rest if len(left_out) else None,
    }


#: What is known of a layer: the fields of LayerArithmetic, and the whole map `computed` from them.
_Parts = dict[str, Any] | None


def _convolution(conv: Any, image: Tensor, channel: int, output: Tensor) -> _Parts:
    window = Window.of(conv)
    (above, below), (left, right) = window.padding
    mode = "constant" if conv.padding_mode == "zeros" else conv.padding_mode
    group = channel // (conv.out_channels // conv.groups)
    size = conv.in_channels // conv.groups
    images = image[group * size : (group + 1) * size]
    kernels = conv.weight[channel].detach().cpu().float()
    contributions = F.conv2d(
        F.pad(images[None], (left, right, above, below), mode),
        kernels[:, None],
        stride=window.stride,
        dilation=window.dilation,
        groups=size,
    )[0]
    rows, columns = (
        window.reads(axis, image.shape[1 + axis], output.shape[1 + axis], conv.padding_mode)
        for axis in (0, 1)
    )
    return _sum(conv, channel, images, kernels, contributions, group * size, rows, columns)


def _transposed(conv: Any, image: Tensor, channel: int, output: Tensor) -> _Parts:
    window = Window.of(conv)
    group, within = divmod(channel, conv.out_channels // conv.groups)
    size = conv.in_channels // conv.groups
    chosen = slice(group * size, (group + 1) * size)
    kernels = conv.weight[chosen, within].detach().cpu().float()
    contributions = F.conv_transpose2d(
        image[chosen][None],
        kernels[:, None],
        stride=conv.stride,
        padding=conv.padding,
        output_padding=conv.output_padding,
        groups=size,
        dilation=conv.dilation,
    )[0]
    rows, columns = (
        window.transposed_reads(axis, image.shape[1 + axis], output.shape[1 + axis])
        for axis in (0, 1)
    )
    return _sum(conv, channel, image[chosen], kernels, contributions, chosen.start, rows, columns)


def _sum(
    conv: Any,
    channel: int,
    images: Tensor,
    kernels: Tensor,
    contributions: Tensor,
    first: int,
    rows: Reads,
    columns: Reads,
) -> _Parts:
    bias = 0.0 if conv.bias is None else float(conv.bias[channel].detach())
    return {
        "kind": "convolution",
        "inputs": images.numpy(),
        "kernels": kernels.numpy(),
        "bias": bias,
        "rows": rows,
        "columns": columns,
        "first": first,
        "contributions": contributions,
        "computed": (contributions.sum(0) + bias).numpy(),
        "scale": float(contributions.abs().sum(0).max()),
    }


def _pooled(kind: str, reads: Callable[[Any, int, int, int], Reads]) -> Callable[..., _Parts]:
    """The explanation of a pooling layer that reads along each axis (of 0 and 1) what `reads` says,
    from its length and the number of outputs."""

    def explain(pool: Any, image: Tensor, channel: int, output: Tensor) -> _Parts:
        rows, columns = (
            reads(pool, axis, image.shape[1 + axis], output.shape[1 + axis]) for axis in (0, 1)
        )
        image_map = image[channel].numpy().copy()
        row_counts, column_counts = _counts(pool, rows), _counts(pool, columns)
        reduce = np.max if kind == "maximum" else np.sum
        computed = _reduced(_reduced(image_map, rows, reduce).T, columns, reduce).T
        if kind == "average":
            if getattr(pool, "divisor_override", None):
                row_counts = (pool.divisor_override,) * len(row_counts)
                column_counts = (1,) * len(column_counts)
            computed = computed / np.outer(np.array(row_counts), np.array(column_counts))
        return {
            "kind": kind,
            "inputs": image_map[None],
            "channels": (channel,),
            "count": 1,
            "rows": rows,
            "columns": columns,
            "row_counts": row_counts,
            "column_counts": column_counts,
            "computed": computed,
        }

    return explain


def _reduced(values: np.ndarray, reads: Reads, reduce: Any) -> np.ndarray:
    """The maximum or sum over what each position along the first axis reads."""
    positions = range(len(reads.positions))
    return np.stack([reduce(values[list(reads.read(at))], axis=0) for at in positions])


def _counts(pool: Any, reads: Reads) -> tuple[int, ...]:
    """How many positions along one axis an average counts, with or without the padding."""
    if getattr(pool, "count_include_pad", True):
        return tuple(map(len, reads.positions))
    return tuple(len(reads.read(at)) for at in range(len(reads.positions)))


def _normalized(statistics: Callable[[Any, Tensor, int], Any]) -> Callable[..., _Parts]:
    """The explanation of a layer that subtracts a mean and divides by a standard deviation, which
    `statistics` gives for the input and a channel."""

    def explain(norm: Any, image: Tensor, channel: int, output: Tensor) -> _Parts:
        per_channel = norm.weight, getattr(norm, "bias", None)
        if any(values is not None and values.shape != image.shape[:1] for values in per_channel):
            return None
        mean, variance = (np.atleast_2d(s.numpy()) for s in statistics(norm, image, channel))
        weight, bias = (
            otherwise if values is None else float(values[channel].detach())
            for values, otherwise in zip(per_channel, (1.0, 0.0), strict=True)
        )
        centred = (image[channel].numpy() - mean) / np.sqrt(variance + norm.eps)
        return {
            "kind": "normalization",
            **_same_position(image, channel),
            "mean": mean,
            "variance": variance,
            "eps": norm.eps,
            "weight": weight,
            "bias": bias,
            "computed": centred * weight + bias,
            "scale": abs(bias),
        }

    return explain


def _running(norm: Any, image: Tensor, channel: int) -> Any:
    """The statistics that a normalization keeps from training; without any, those of the image."""
    if norm.running_mean is None:
        return _of_image(norm, image, channel)
    return norm.running_mean[channel].cpu(), norm.running_var[channel].cpu()


def _of_image(norm: Any, image: Tensor, channel: int) -> Any:
    return image[channel].mean(), image[channel].var(correction=0)


def _of_group(norm: Any, image: Tensor, channel: int) -> Any:
    size = norm.num_channels // norm.num_groups
    group = image[channel // size * size :][:size]
    return group.mean(), group.var(correction=0)


def _of_channels(norm: Any, image: Tensor, channel: int) -> Any:
    """Over all channels at each position, as ConvNeXt does."""
    return image.mean(0), image.var(0, correction=0)


def _same_position(image: Tensor, channel: int) -> dict[str, Any]:
    """One input channel, of which each position is read by the same position of the output."""
    rows, columns = (padding_reads(length, 0, 0, "zeros") for length in image.shape[1:])
    values = image[channel].numpy()[None].copy()
    return {"inputs": values, "channels": (channel,), "count": 1, "rows": rows, "columns": columns}


def _function(
    formula: str | Callable[[Any], str], function: Callable[[Tensor], Tensor] | None = None
) -> Callable[..., _Parts]:
    """The explanation of a layer that computes each value from the one at the same position, by
    `function`, or by its own forward."""

    def explain(layer: Any, image: Tensor, channel: int, output: Tensor) -> _Parts:
        if image.shape != output.shape:
            return None
        with torch.no_grad():
            computed = (function or layer.forward)(image[channel].clone()).numpy()
        return {
            "kind": "function",
            "formula": formula if isinstance(formula, str) else formula(layer),
            "computed": computed,
            **_same_position(image, channel),
        }

    return explain


_slide = lambda pool, axis, length, count: Window.of(pool).reads(axis, length, count)  # noqa: E731
_adapt = lambda pool, axis, length, count: adaptive_reads(length, count)  # noqa: E731

#: Subclasses stand before their base.
_EXPLAIN: dict[type[nn.Module], Callable[..., _Parts]] = {
    nn.Conv2d: _convolution,
    nn.ConvTranspose2d: _transposed,
    nn.MaxPool2d: _pooled("maximum", _slide),
    nn.AdaptiveMaxPool2d: _pooled("maximum", _adapt),
    nn.AvgPool2d: _pooled("average", _slide),
    nn.AdaptiveAvgPool2d: _pooled("average", _adapt),
    nn.BatchNorm2d: _normalized(_running),
    nn.InstanceNorm2d: _normalized(_running),
    nn.GroupNorm: _normalized(_of_group),
    nn.LayerNorm: _normalized(_of_channels),
    nn.ReLU: _function("max(0, x)"),
    nn.ReLU6: _function("min(max(0, x), 6)"),
    nn.LeakyReLU: _function(lambda layer: f"x if x > 0 else {layer.negative_slope:g} · x"),
    nn.ELU: _function(lambda layer: f"x if x > 0 else {layer.alpha:g} · (e^x − 1)"),
    nn.Sigmoid: _function("1 / (1 + e^(−x))"),
    nn.Tanh: _function("tanh(x)"),
    nn.SiLU: _function("x / (1 + e^(−x))"),
    nn.GELU: _function("x · Φ(x)"),
    nn.Softplus: _function("log(1 + e^x)"),
    nn.Hardswish: _function("x · min(max(0, x + 3), 6) / 6"),
    nn.Hardsigmoid: _function("min(max(0, x + 3), 6) / 6"),
    nn.Dropout: _function("x", torch.clone),
    nn.Dropout2d: _function("x", torch.clone),
    nn.Identity: _function("x", torch.clone),
}
