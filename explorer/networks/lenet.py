"""Two networks on drawn shapes: LeNet-5, untrained, and the trained one of this project."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks import synthetic_images
from explorer.networks.image_networks import IMAGE_SIZE, shapes_net
from explorer.networks.problems import SampledProblem, Samples, sampled, source_of

_SAMPLES = 24


class LeNet5(nn.Sequential):
    """The layers of LeCun et al. (1998, https://doi.org/10.1109/5.726791), with hyperbolic tangents
    and average pooling; inputs are n × 3 × 32 × 32."""

    def __init__(self, classes: int) -> None:
        super().__init__(
            nn.Conv2d(3, 6, 5),
            nn.Tanh(),
            nn.AvgPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.Tanh(),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * 5 * 5, 120),
            nn.Tanh(),
            nn.Linear(120, 84),
            nn.Tanh(),
            nn.Linear(84, classes),
        )


def _draw_samples(size: int) -> tuple[Tensor, Tensor]:
    images, labels = synthetic_images.draw(_SAMPLES, size, seed=0)
    return torch.from_numpy(images), torch.from_numpy(labels)


_DATA = """\
images, labels = (torch.from_numpy(part) for part in draw({samples}, {size}, seed=0))
net = {net}
"""
_LOSS = "loss = F.cross_entropy(net(images[:{batch}]), labels[:{batch}])"
_BATCH = 8


def lenet() -> SampledProblem:
    """LeNet-5 with random weights, and 24 drawn images of 32 × 32 pixels in twelve classes."""

    def collect() -> Samples:
        images, labels = _draw_samples(32)
        return Samples(LeNet5(len(synthetic_images.CLASSES)), images, labels, F.cross_entropy)

    end = _DATA.format(samples=_SAMPLES, size=32, net=f"LeNet5({len(synthetic_images.CLASSES)})")
    return sampled(
        "LeNet-5",
        "LeNet-5 on drawn shapes",
        collect,
        source="from explorer.networks.synthetic_images import draw\n" + source_of(LeNet5, end=end),
        loss_source=_LOSS.format(batch=_BATCH),
        note="The images are drawn by formulas of this project, which the script imports.",
        batch=_BATCH,
    )


def shapes() -> SampledProblem:
    """The small trained network that is part of this project."""

    def collect() -> Samples:
        images, labels = _draw_samples(IMAGE_SIZE)
        return Samples(shapes_net(), images, labels, F.cross_entropy)

    end = _DATA.format(samples=_SAMPLES, size=IMAGE_SIZE, net="shapes_net()")
    return sampled(
        "shapes net",
        "A small network trained on drawn shapes",
        collect,
        source="from explorer.networks.synthetic_images import draw\n"
        "from explorer.networks.image_networks import shapes_net\n" + source_of(end=end),
        loss_source=_LOSS.format(batch=_BATCH),
        note="Trained: its gradients are small because its predictions are already right.",
        batch=_BATCH,
    )
