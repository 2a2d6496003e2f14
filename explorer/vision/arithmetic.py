"""The arithmetic of one output pixel of a convolution: every product in its sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.networks.borrow import borrow_frozen
from explorer.vision.feature_maps import Inputs, get_convolution, nth_call, to_arguments
from explorer.vision.geometry import Window


@dataclass(frozen=True)
class PixelArithmetic:
    """`value` = `bias` + the sum of `patch` * `weights`, within float32 rounding.

    `patch` and `weights` are in-channels-of-the-group × kernel height × kernel width; the group's
    first input channel is `first_channel`. `rows` and `columns` are the positions in the layer's
    input that the window covers; `inside` (kernel height × kernel width, bool) is False in the
    padding.
    """

    layer: str
    call: int
    channel: int
    row: int
    column: int
    patch: np.ndarray
    weights: np.ndarray
    bias: float
    value: float
    first_channel: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    inside: np.ndarray

    @property
    def products(self) -> np.ndarray:
        """`patch` * `weights` in float64."""
        return self.patch.astype(np.float64) * self.weights

    @property
    def total(self) -> float:
        """`bias` and the sum of all products, in float64."""
        return self.bias + float(self.products.sum())


def pixel_arithmetic(
    model: nn.Module,
    inputs: Inputs,
    layer: str,
    channel: int,
    row: int,
    column: int,
    *,
    call: int = 0,
) -> PixelArithmetic:
    """The arithmetic of one output pixel of a Conv2d, for the first image of the batch.

    Raises ValueError if the layer is not a Conv2d, or the pixel or the call does not exist.
    """
    conv = get_convolution(model, layer)
    calls: list[tuple[Tensor, Tensor]] = []

    def record(conv: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
        calls.append((args[0][0].clone(), output[0].clone()))

    with borrow_frozen(model) as loan:
        loan.keep(conv.register_forward_hook(record))
        model(*to_arguments(inputs))
    image, output = nth_call(calls, layer, call)
    if not all(0 <= at < n for at, n in zip((channel, row, column), output.shape, strict=True)):
        raise ValueError(
            f"The output of {layer!r} is {' × '.join(map(str, output.shape))}; it has no pixel "
            f"(channel {channel}, row {row}, column {column})."
        )
    window = Window.of(conv)
    rows, columns = window.positions(row, column)
    (above, below), (left, right) = window.padding
    mode = "constant" if conv.padding_mode == "zeros" else conv.padding_mode
    padded = F.pad(image[None], (left, right, above, below), mode)[0]
    group = channel // (conv.out_channels // conv.groups)
    first = group * (conv.in_channels // conv.groups)
    patch = padded[first : first + conv.in_channels // conv.groups]
    patch = patch[:, [at + above for at in rows]][:, :, [at + left for at in columns]]
    height, width = image.shape[1:]
    return PixelArithmetic(
        layer=layer,
        call=call,
        channel=channel,
        row=row,
        column=column,
        patch=patch.cpu().numpy(),
        weights=conv.weight[channel].detach().cpu().numpy().copy(),
        bias=0.0 if conv.bias is None else float(conv.bias[channel].detach()),
        value=float(output[channel, row, column]),
        first_channel=first,
        rows=tuple(rows),
        columns=tuple(columns),
        inside=np.array([[0 <= r < height and 0 <= c < width for c in columns] for r in rows]),
    )
