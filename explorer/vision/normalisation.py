"""Between an image's pixels, from 0 to 1, and the numbers that a network is given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
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
