"""ToyModel: two convolutions, one of whose siblings is never used."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks.samples import SampledProblem, Samples, sampled
from explorer.networks.source import source_of


class ToyModel(nn.Module):
    def __init__(self, channels: int, width: int, classes: int) -> None:
        super().__init__()
        self.tmp = nn.Conv2d(channels, 6, 3)  # never used: its gradient stays None
        self.conv1 = nn.Conv2d(channels, 6, 3)
        self.conv2 = nn.Conv2d(6, width, 3)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(width, classes, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        features = F.relu(self.conv1(images))
        features = F.relu(self.conv2(features))
        scores: Tensor = self.fc(self.pool(features).flatten(1))
        return scores


def toy_data() -> tuple[nn.Module, Tensor, Tensor]:
    net = ToyModel(3, 64, 2)
    images = torch.randn(40, 3, 224, 224)
    labels = torch.randint(0, 2, (40,))
    return net, images, labels


def toy_model() -> SampledProblem:
    """40 images of noise in two classes, one at a time: for accumulated gradients."""
    return sampled(
        "ToyModel",
        "ToyModel: gradients accumulate",
        lambda: Samples(*toy_data(), F.cross_entropy),
        source=source_of(ToyModel, toy_data, end="net, images, labels = toy_data()"),
        loss_source="loss = F.cross_entropy(net(images[:1]), labels[:1])",
        note="Both ReLUs are functions of forward, so no module hook sees them.",
    )
