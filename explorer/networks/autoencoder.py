"""An autoencoder: a network that has to put images of discs into a few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks.problems import SampledProblem, Samples, sampled, source_of
from explorer.training.problem import random_stream

#: How many numbers the code can have here.
CODES = (1, 2, 3, 8)
#: After how many steps of training the images are looked at.
MOMENTS = (0, 10, 20, 40, 80, 160, 320)
#: How many images of the training and how many new ones are shown.
_SHOWN = 4


class Autoencoder(nn.Module):
    """Images to a few numbers and back: Hinton & Salakhutdinov 2006,
    https://doi.org/10.1126/science.1127647"""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(256, 64), nn.GELU(), nn.Linear(64, code))
        self.decoder = nn.Sequential(nn.Linear(code, 64), nn.GELU(), nn.Linear(64, 256))

    def forward(self, images: Tensor) -> Tensor:
        code = self.encoder(images.flatten(1))
        return self.decoder(code).sigmoid().unflatten(1, (1, 16, 16))


def discs(n: int) -> Tensor:
    """White discs of random place and size on black, (n, 1, 16, 16)."""
    place, radius = 4 + 8 * torch.rand(n, 2, 1, 1), 2 + 2 * torch.rand(n, 1, 1)
    y, x = torch.arange(16.0)[:, None], torch.arange(16.0)
    distance = torch.hypot(y - place[:, 0], x - place[:, 1])
    return (radius - distance + 0.5).clamp(0, 1).unsqueeze(1)


def autoencoder(code: int = 3) -> SampledProblem:
    """Discs through a code of three numbers; the loss is the binary cross-entropy."""

    def collect() -> Samples:
        images = discs(512)
        return Samples(Autoencoder(code), images, images, F.binary_cross_entropy)

    return sampled(
        "autoencoder",
        "How many numbers describe an image?",
        collect,
        source=source_of(
            discs, Autoencoder, end=f"images = discs(512)\nnet = Autoencoder(code={code})"
        ),
        loss_source="loss = F.binary_cross_entropy(net(images[:64]), images[:64])",
        note="An image of 256 pixels has to pass through 3 numbers. Three are enough for these "
        "discs: two for the place and one for the size (Hinton & Salakhutdinov 2006).",
        batch=64,
    )


@dataclass(frozen=True, eq=False)
class Reconstructions:
    """Images and what comes out for them, at some moments of the training.

    `images` (n, height, width): half are of the training, half are new. `outputs` (moments, n,
    height, width). `errors` are the mean squared errors of 64 images of the training and of 64
    new ones, (moments, 2).
    """

    moments: tuple[int, ...]
    images: np.ndarray
    outputs: np.ndarray
    errors: np.ndarray


def reconstruct(
    code: int, moments: Sequence[int] = MOMENTS, lr: float = 0.01, seed: int = 0
) -> Reconstructions:
    """Train the preset by Adam, on 64 of its images at each step."""
    with random_stream(seed):
        net, images, _, criterion = autoencoder(code).collect()
        new = discs(64)
    looked_at = torch.cat([images[:64], new])
    shown = torch.cat([torch.arange(_SHOWN), 64 + torch.arange(_SHOWN)])
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    order = torch.Generator().manual_seed(seed)
    outputs, errors = [], []
    for step in range(max(moments) + 1):
        if step in moments:
            with torch.no_grad():
                output = net(looked_at)
            squares = ((output - looked_at) ** 2).flatten(1).mean(1)
            outputs.append(output[shown, 0].numpy())
            errors.append([float(squares[:64].mean()), float(squares[64:].mean())])
        batch = images[torch.randint(0, len(images), (64,), generator=order)]
        loss = criterion(net(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    pictures = looked_at[shown, 0].numpy()
    return Reconstructions(tuple(moments), pictures, np.array(outputs), np.array(errors))
