"""A small convolutional classifier of drawn shapes and textures, shipped with trained weights.

Built like a VGG network, only smaller: three blocks of two 3×3 convolutions and a pooling.
`python -m explorer.networks.train_shapes_net` trains it again.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from explorer.networks.synthetic_images import CLASSES

WEIGHTS = Path(__file__).with_name("shapes_net.safetensors")

#: Height and width of the pictures it was trained on, in pixels.
SIZE = 64


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
    """Images (n × 3 × 64 × 64, 0 to 1, not normalised) to one score per class of `drawn.CLASSES`.

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
    with torch.device("meta"):  # no random numbers are drawn for weights soon replaced
        model = ShapesNet()
    model.load_state_dict(load_file(WEIGHTS), assign=True)
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    return model.eval()


def stated_accuracy() -> float:
    """The share of test pictures classified rightly, as measured when the weights were trained."""
    with safe_open(WEIGHTS, "pt") as file:
        return float(file.metadata()["test_accuracy"])
