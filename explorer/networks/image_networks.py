"""The project's own networks for images: `ShapesNet` is trained, `FilterBank` has fixed filters.

`ShapesNet` classifies drawn shapes and textures. It is built like a small VGG network
(https://arxiv.org/abs/1409.1556): three blocks of two 3×3 convolutions and a pooling layer.
`python -m explorer.networks.train_shapes_net` trains it again.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file
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
    with torch.device("meta"):  # draws no random numbers for weights that are replaced anyway
        model = ShapesNet()
    model.load_state_dict(load_file(WEIGHTS), assign=True)
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    return model.eval()


def stated_accuracy() -> float:
    """The fraction of test images classified correctly, measured when the weights were trained."""
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
    u in the direction `degrees`, shifted to sum to 0 so that a uniform surface gives 0."""
    x, y = _grid()
    angle = math.radians(degrees)
    u = x * math.cos(angle) + y * math.sin(angle)
    envelope = torch.exp(-(x**2 + y**2) / (2 * sigma**2))
    wave = torch.cos(2 * math.pi * u / wavelength)
    kernel = envelope * (wave - (envelope * wave).sum() / envelope.sum())
    return kernel / kernel.abs().sum()


#: Kernels by name. "x" responds to changes from left to right, that is, to vertical edges.
FILTERS: dict[str, Tensor] = {
    "identity": _small([[0, 0, 0], [0, 1, 0], [0, 0, 0]]),
    "blur": _gaussian(1.5),
    "sharpen": _small([[0, -1, 0], [-1, 5, -1], [0, -1, 0]]),
    "Sobel x": _small([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]),
    "Sobel y": _small([[-1, -2, -1], [0, 0, 0], [1, 2, 1]]),
    "Laplacian": _small([[0, 1, 0], [1, -4, 1], [0, 1, 0]]),
    "Gabor 0°": _gabor(0),
    "Gabor 45°": _gabor(45),
    "Gabor 90°": _gabor(90),
    "Gabor 135°": _gabor(135),
}

#: Weights of red, green and blue in brightness (ITU-R BT.601, https://www.itu.int/rec/R-REC-BT.601).
_LUMA = (0.299, 0.587, 0.114)


class FilterBank(nn.Module):
    """Maps images (n × 3 × height × width, 0 to 1) to one map per entry of `FILTERS`.

    The layers are `grey`, `filters` and `relu`, which sets negative values to 0.
    """

    def __init__(self) -> None:
        super().__init__()
        self.grey = nn.Conv2d(3, 1, 1, bias=False)
        # The border is replicated: otherwise every filter would respond to the edge of the image.
        self.filters = nn.Conv2d(
            1, len(FILTERS), KERNEL_SIZE, padding="same", padding_mode="replicate", bias=False
        )
        self.relu = nn.ReLU()
        self.grey.weight = _fixed(torch.tensor(_LUMA).reshape(1, 3, 1, 1))
        self.filters.weight = _fixed(torch.stack(list(FILTERS.values()))[:, None])

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.filters(self.grey(x)))


def _fixed(values: Tensor) -> nn.Parameter:
    return nn.Parameter(values, requires_grad=False)
