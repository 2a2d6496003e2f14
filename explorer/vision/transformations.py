"""The pixels behind a network's input, and changes of an image by an amount: turned, shifted,
blurred, brighter or darker, noisy.

A transformation is a function of pixels (1 × 3 × height × width, from 0 to 1), an amount and a
seed. The amount 0 changes nothing; the same arguments give the same image every time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


class Normalisation(NamedTuple):
    """A network's input is (pixel − mean) / std, with a mean and a std for each colour.

    Functions take it as these two tuples, as a child process gets it.
    """

    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)

    def to_pixels(self, inputs: Tensor) -> Tensor:
        """The pixels (n × colours × height × width) of a network's inputs."""
        return inputs * self._tensor(self.std, inputs) + self._tensor(self.mean, inputs)

    def to_inputs(self, pixels: Tensor) -> Tensor:
        """The network's inputs for these pixels."""
        return (pixels - self._tensor(self.mean, pixels)) / self._tensor(self.std, pixels)

    def to_rgb(self, inputs: Tensor) -> np.ndarray:
        """One input (3 or 1 × height × width) as it is seen: height × width × 3, uint8."""
        pixels = self.to_pixels(inputs.cpu()).numpy()
        rgb = np.rint(255 * pixels).clip(0, 255).astype(np.uint8).transpose(1, 2, 0)
        return rgb if rgb.shape[2] == 3 else rgb[..., :1].repeat(3, axis=2)

    @staticmethod
    def _tensor(values: tuple[float, ...], like: Tensor) -> Tensor:
        return torch.tensor(values, dtype=like.dtype, device=like.device)[:, None, None]


def turn(pixels: Tensor, degrees: float, seed: int = 0) -> Tensor:
    """Turned counterclockwise around the middle; the pixels at the edge are repeated outwards."""
    angle = math.radians(degrees)
    height, width = pixels.shape[-2:]
    cosine, sine = math.cos(angle), math.sin(angle)
    # affine_grid counts both axes from −1 to 1, whatever the number of pixels.
    rows = [[cosine, -sine * height / width, 0.0], [sine * width / height, cosine, 0.0]]
    return _resample(pixels, rows)


def shift(pixels: Tensor, percent: float, seed: int = 0) -> Tensor:
    """Moved to the right by this share of the width; the pixels at the edge are repeated."""
    return _resample(pixels, [[1.0, 0.0, -2 * percent / 100], [0.0, 1.0, 0.0]])


def blur(pixels: Tensor, percent: float, seed: int = 0) -> Tensor:
    """Each pixel as a mean of those around it, weighted by exp(−r²/2σ²): a Gaussian blur. σ is
    this share of the longer side; the image is mirrored at its edges."""
    sigma = percent / 100 * max(pixels.shape[-2:])
    if not sigma:
        return pixels
    for axis in (-2, -1):
        reach = min(math.ceil(3 * sigma), pixels.shape[axis] - 1)
        at = torch.arange(-reach, reach + 1, dtype=pixels.dtype, device=pixels.device)
        weights = torch.exp(-(at**2) / (2 * sigma**2))
        kernel = (weights / weights.sum()).reshape((1, 1, -1, 1) if axis == -2 else (1, 1, 1, -1))
        sides = (0, 0, reach, reach) if axis == -2 else (reach, reach, 0, 0)
        padded = F.pad(pixels, sides, mode="reflect")
        channels = pixels.shape[1]
        pixels = F.conv2d(padded, kernel.expand(channels, 1, -1, -1), groups=channels)
    return pixels


def brighten(pixels: Tensor, percent: float, seed: int = 0) -> Tensor:
    """Every pixel times (1 + the amount), at most 1; a negative amount makes it darker."""
    return (pixels * (1 + percent / 100)).clamp(0, 1)


def add_noise(pixels: Tensor, percent: float, seed: int = 0) -> Tensor:
    """A normally distributed number added to every pixel and colour, limited to 0 to 1. The amount
    is its standard deviation; another amount scales the same numbers."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(pixels.shape, generator=generator, dtype=torch.float32)
    return (pixels + percent / 100 * noise.to(pixels)).clamp(0, 1)


def _resample(pixels: Tensor, rows: list[list[float]]) -> Tensor:
    matrix = torch.tensor([rows], dtype=pixels.dtype, device=pixels.device)
    grid = F.affine_grid(matrix, list(pixels.shape), align_corners=False)
    return F.grid_sample(pixels, grid, padding_mode="border", align_corners=False)


@dataclass(frozen=True)
class Transformation:
    """A change with its name, the unit of its amount, and the amounts that a slider offers."""

    title: str
    apply: Callable[[Tensor, float, int], Tensor]
    unit: str
    low: float
    high: float
    step: float = 1.0
    random: bool = False


TRANSFORMATIONS: dict[str, Transformation] = {
    "turn": Transformation("Turn", turn, "°", -180, 180, 3),
    "shift": Transformation("Shift", shift, "%", -50, 50),
    "blur": Transformation("Blur", blur, "%", 0, 10, 0.25),
    "brightness": Transformation("Brightness", brighten, "%", -100, 100, 4),
    "noise": Transformation("Noise", add_noise, "%", 0, 100, 2, random=True),
}


def transform(
    inputs: Tensor, normalisation: Normalisation, name: str, amount: float, seed: int = 0
) -> Tensor:
    """A network's input (1 × 3 × height × width), changed by the transformation with this name."""
    if not amount:
        return inputs
    pixels = normalisation.to_pixels(inputs).clamp(0, 1)
    return normalisation.to_inputs(TRANSFORMATIONS[name].apply(pixels, amount, seed))


#: An image that shows nothing, which methods of attribution compare with.
Baseline = Literal["black", "blurred"]
#: Of the longer side, in percent: shapes and edges are gone, colours stay.
_NOTHING_LEFT = 10.0


def make_baseline(inputs: Tensor, normalisation: Normalisation, kind: Baseline) -> Tensor:
    """The network's input for a black image, or for this image so blurred that nothing is left of
    its shapes."""
    pixels = normalisation.to_pixels(inputs.detach())
    changed = torch.zeros_like(pixels) if kind == "black" else blur(pixels, _NOTHING_LEFT)
    return normalisation.to_inputs(changed)
