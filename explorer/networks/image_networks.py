"""The project's own networks for images: `ShapesNet` is trained, `FilterBank` has fixed filters.

`ShapesNet` classifies drawn shapes and textures. It is built like a small VGG network
(https://arxiv.org/abs/1409.1556): three blocks of two 3×3 convolutions and a pooling layer.
`python -m explorer.networks.train` trains it again.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from pathlib import Path

import torch
from torch import Tensor, nn

from explorer.networks.synthetic_images import CLASSES

WEIGHTS = Path(__file__).with_name("shapes_net.safetensors")

#: Height and width of the images `ShapesNet` was trained on, in pixels.
IMAGE_SIZE = 64


class Block(nn.Sequential):
    """Two 3×3 convolutions with ReLU, then max pooling: height and width are halved."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(
            OrderedDict(
                conv1=nn.Conv2d(inputs, outputs, 3, padding=1),
                relu1=nn.ReLU(),
                conv2=nn.Conv2d(outputs, outputs, 3, padding=1),
                relu2=nn.ReLU(),
                pool=nn.MaxPool2d(2),
            )
        )


class ShapesNet(nn.Module):
    """Maps images (n × 3 × 64 × 64, 0 to 1, not normalised) to one score for each of
    `synthetic_images.CLASSES`.

    Other heights and widths from 8 pixels work, but it was not trained on them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.block1 = Block(3, 12)
        self.block2 = Block(12, 24)
        self.block3 = Block(24, 48)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(48, len(CLASSES))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):  # torch's own default shrinks the signal at each ReLU
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        x = self.block3(self.block2(self.block1(x)))
        return self.fc(self.pool(x).flatten(1))


def shapes_net() -> ShapesNet:
    """The trained network, in evaluation mode."""
    from safetensors.torch import load_file

    with torch.device("meta"):  # draws no random numbers for weights that are replaced anyway
        model = ShapesNet()
    model.load_state_dict(load_file(WEIGHTS), assign=True)
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    return model.eval()


def stated_accuracy() -> float:
    """The fraction of test images classified correctly, measured when the weights were trained."""
    from safetensors import safe_open

    with safe_open(WEIGHTS, "pt") as file:
        return float(file.metadata()["test_accuracy"])


#: Height and width of every kernel.
KERNEL_SIZE = 7


def _small(rows: list[list[float]]) -> Tensor:
    """A 3 × 3 kernel in the middle of a larger one, with zeros around it."""
    kernel = torch.zeros(KERNEL_SIZE, KERNEL_SIZE)
    kernel[2:5, 2:5] = torch.tensor(rows)
    return kernel


def _grid() -> tuple[Tensor, Tensor]:
    axis = torch.arange(KERNEL_SIZE) - KERNEL_SIZE // 2.0
    return axis[None, :], axis[:, None]


def _gaussian(sigma: float) -> Tensor:
    x, y = _grid()
    kernel = torch.exp(-(x**2 + y**2) / (2 * sigma**2))
    return kernel / kernel.sum()


def _gabor(degrees: float, wavelength: float = 4.0, sigma: float = 2.0) -> Tensor:
    """A Gabor filter (https://en.wikipedia.org/wiki/Gabor_filter): exp(−r²/2σ²) · cos(2πu/λ) with
    u in the direction `degrees`, shifted to sum to 0 so that a uniform surface gives 0. Black and
    white stripes of its direction and wavelength give about 1 or −1."""
    x, y = _grid()
    angle = math.radians(degrees)
    u = x * math.cos(angle) + y * math.sin(angle)
    envelope = torch.exp(-(x**2 + y**2) / (2 * sigma**2))
    wave = torch.cos(2 * math.pi * u / wavelength)
    kernel = envelope * (wave - (envelope * wave).sum() / envelope.sum())
    return 2 * kernel / kernel.abs().sum()


#: Kernels by name, applied to the brightness. Edges are Sobel's, so scaled that a step from black
#: to white gives 1 (or −1, the other way round); fine detail is the Laplacian; stripes are Gabor's.
FILTERS: dict[str, Tensor] = {
    "brightness": _small([[0, 0, 0], [0, 1, 0], [0, 0, 0]]),
    "blurred": _gaussian(1.5),
    "sharpened": _small([[0, -1, 0], [-1, 5, -1], [0, -1, 0]]),
    "vertical edges": _small([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 4,
    "horizontal edges": _small([[-1, -2, -1], [0, 0, 0], [1, 2, 1]]) / 4,
    "fine detail": _small([[0, 1, 0], [1, -4, 1], [0, 1, 0]]) / 2,
    "vertical stripes": _gabor(0),
    "rising stripes": _gabor(45),
    "horizontal stripes": _gabor(90),
    "falling stripes": _gabor(135),
}

#: Weights of red, green and blue by name: brightness (ITU-R BT.601,
#: https://www.itu.int/rec/R-REC-BT.601) and the two opponent colours.
COLOURS: dict[str, tuple[float, float, float]] = {
    "brightness": (0.299, 0.587, 0.114),
    "red − green": (1.0, -1.0, 0.0),
    "blue − yellow": (-0.5, -0.5, 1.0),
}

_OPPONENTS = list(COLOURS)[1:]
#: The names of the channels of each layer of `FilterBank`.
FILTER_BANK_CHANNELS = {
    "colours": tuple(COLOURS),
    "filters": (*FILTERS, *_OPPONENTS),
    "relu": (*FILTERS, *_OPPONENTS),
}


class FilterBank(nn.Module):
    """Maps images (n × 3 × height × width, 0 to 1) to 12 maps: edges, stripes and colours.

    The layers are `colours`, `filters` and `relu`, which sets negative values to 0.
    """

    def __init__(self) -> None:
        super().__init__()
        self.colours = nn.Conv2d(3, 3, 1, bias=False)
        # The border is replicated: otherwise every filter would respond to the edge of the image.
        self.filters = nn.Conv2d(3, 12, 7, padding="same", padding_mode="replicate", bias=False)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.filters(self.colours(x)))


def filter_bank() -> FilterBank:
    """The filter bank with its fixed kernels: those of `FILTERS` on the brightness, and a blur of
    each opponent colour. Channels are named in `FILTER_BANK_CHANNELS`."""
    with torch.device("meta"):
        model = FilterBank()
    colours = torch.tensor(list(COLOURS.values()))
    model.colours.weight = _fixed(colours[:, :, None, None])
    kernels = torch.zeros(12, len(colours), KERNEL_SIZE, KERNEL_SIZE)
    kernels[: len(FILTERS), 0] = torch.stack(list(FILTERS.values()))
    for i in range(len(_OPPONENTS)):
        kernels[len(FILTERS) + i, 1 + i] = FILTERS["blurred"]
    model.filters.weight = _fixed(kernels)
    return model.eval()


def _fixed(values: Tensor) -> nn.Parameter:
    return nn.Parameter(values, requires_grad=False)
