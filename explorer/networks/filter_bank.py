"""Fixed filters of image processing as a network: nothing in it is trained."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

#: Height and width of every kernel.
SIZE = 7


def _small(rows: list[list[float]]) -> Tensor:
    """A 3 × 3 kernel in the middle of a larger one."""
    kernel = torch.zeros(SIZE, SIZE)
    kernel[2:5, 2:5] = torch.tensor(rows)
    return kernel


def _grid() -> tuple[Tensor, Tensor]:
    axis = torch.arange(SIZE) - SIZE // 2.0
    return axis[None, :], axis[:, None]


def _gaussian(sigma: float) -> Tensor:
    x, y = _grid()
    kernel = torch.exp(-(x**2 + y**2) / (2 * sigma**2))
    return kernel / kernel.sum()


def _gabor(degrees: float, wavelength: float = 4.0, sigma: float = 2.0) -> Tensor:
    """A wave under a bell, exp(−r²/2σ²) · cos(2πu/λ) with u along `degrees`, shifted to sum to 0
    so that even surfaces give 0."""
    x, y = _grid()
    angle = math.radians(degrees)
    u = x * math.cos(angle) + y * math.sin(angle)
    bell = torch.exp(-(x**2 + y**2) / (2 * sigma**2))
    wave = torch.cos(2 * math.pi * u / wavelength)
    kernel = bell * (wave - (bell * wave).sum() / bell.sum())
    return kernel / kernel.abs().sum()


#: Name to kernel. "x" finds changes from left to right, that is, upright edges.
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

#: Share of red, green and blue in brightness (ITU-R BT.601).
_LUMA = (0.299, 0.587, 0.114)


class FilterBank(nn.Module):
    """Images (n × 3 × height × width, 0 to 1) to one map per entry of `FILTERS`, negative values
    cut to 0. `grey` and `filters` are the layers before that."""

    def __init__(self) -> None:
        super().__init__()
        self.grey = nn.Conv2d(3, 1, 1, bias=False)
        # The border is repeated, or every filter would find an edge around the picture.
        self.filters = nn.Conv2d(
            1, len(FILTERS), SIZE, padding="same", padding_mode="replicate", bias=False
        )
        self.relu = nn.ReLU()
        self.grey.weight = _fixed(torch.tensor(_LUMA).reshape(1, 3, 1, 1))
        self.filters.weight = _fixed(torch.stack(list(FILTERS.values()))[:, None])

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.filters(self.grey(x)))


def _fixed(values: Tensor) -> nn.Parameter:
    return nn.Parameter(values, requires_grad=False)
