"""A linear classifier, whose attributions can be worked out by hand, and random small networks."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from explorer.vision import Normalisation

#: As different from 0 and 1 as those of ImageNet.
NORMALISATION = Normalisation((0.5, 0.25, 0.75), (0.25, 0.5, 0.2))


class Linear(nn.Module):
    """Scores W · x + b of an image with `size` × `size` pixels."""

    def __init__(self, size: int = 6, classes: int = 3) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        shape = classes, 3, size, size
        self.weight = nn.Parameter(torch.randn(shape, generator=generator))
        self.bias = nn.Parameter(torch.randn(classes, generator=generator))

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("nchw,kchw->nk", x, self.weight) + self.bias


def small_network(seed: int, width: int, kernel: int, smooth: bool, in_place: bool) -> nn.Module:
    """A convolutional network with random weights for 3 classes, in evaluation mode."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        activation = nn.Softplus() if smooth else nn.ReLU(inplace=in_place)
        layers = [nn.Conv2d(3, width, kernel, padding=kernel // 2), activation]
        layers += [nn.BatchNorm2d(width), nn.Dropout(0.5), nn.MaxPool2d(2)]
        first = [nn.ReLU(inplace=True)] if in_place else []
        head = [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * width, 3)]
        return nn.Sequential(*first, *layers, *head).eval()
