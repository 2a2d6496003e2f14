"""One output pixel of a convolution, by torch's own padding and unfolding: an oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from explorer.vision import feature_maps

#: Convolutions of every kind, by what they are made with.
LAYERS: dict[str, dict[str, Any]] = {
    "plain": {"kernel_size": 3},
    "one": {"kernel_size": 1, "bias": False},
    "strided": {"kernel_size": 3, "stride": 2},
    "uneven": {"kernel_size": (1, 5), "stride": (2, 3), "padding": (0, 2)},
    "padded": {"kernel_size": 5, "padding": 3},
    "reflected": {"kernel_size": 5, "padding": 2, "padding_mode": "reflect"},
    "replicated": {"kernel_size": 3, "padding": 1, "padding_mode": "replicate"},
    "circular": {"kernel_size": 3, "padding": (1, 2), "padding_mode": "circular"},
    "same": {"kernel_size": (4, 3), "padding": "same", "dilation": (1, 2)},
    "valid": {"kernel_size": 3, "padding": "valid"},
    "dilated": {"kernel_size": 3, "dilation": 3, "padding": 2},
    "grouped": {"kernel_size": 3, "groups": 3, "padding": 1},
    "depthwise": {"kernel_size": 3, "groups": 6, "stride": 2, "padding": 1},
    "all": {"kernel_size": 3, "stride": 2, "padding": 2, "dilation": 2, "groups": 2},
}


@dataclass(frozen=True)
class Pixel:
    """What one output pixel is made of: `patch` and `weights` are in-channels-of-the-group × kernel
    height × kernel width; `inside` (the same without channels) is False in the padding."""

    value: float
    bias: float
    patch: np.ndarray
    weights: np.ndarray
    inside: np.ndarray
    first_channel: int

    @property
    def products(self) -> np.ndarray:
        return self.patch.astype(np.float64) * self.weights


def pixel_of(
    model: nn.Module, x: torch.Tensor, layer: str, channel: int, row: int, column: int
) -> Pixel:
    conv: Any = model.get_submodule(layer)
    given = torch.from_numpy(feature_maps(model, x, layer, of="input").activations[:1])
    output = feature_maps(model, x, layer).activations[0]
    mode = "constant" if conv.padding_mode == "zeros" else conv.padding_mode
    # torch's own list of what is added at each side: left, right, top, bottom.
    added = conv._reversed_padding_repeated_twice
    size = conv.in_channels // conv.groups
    first = channel // (conv.out_channels // conv.groups) * size

    def windows(image: torch.Tensor, mode: str) -> np.ndarray:
        padded = F.pad(image, added, mode)
        columns = F.unfold(padded, conv.kernel_size, conv.dilation, 0, conv.stride)
        at = row * output.shape[2] + column
        return columns[0, :, at].reshape(-1, *conv.kernel_size).numpy()

    return Pixel(
        value=float(output[channel, row, column]),
        bias=0.0 if conv.bias is None else float(conv.bias[channel].detach()),
        patch=windows(given, mode)[first : first + size],
        weights=conv.weight[channel].detach().numpy(),
        inside=windows(torch.ones_like(given[:, :1]), "constant")[0] == 1,
        first_channel=first,
    )
