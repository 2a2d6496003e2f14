"""Three small networks: two to follow with pencil and paper, and one for accumulated gradients."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks.problems import (
    ModuleProblem,
    Network,
    SampledProblem,
    Samples,
    sampled,
    source_of,
)


class TestNet(nn.Module):
    def __init__(self, divide: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 1)
        self.divide = divide
        nn.init.constant_(self.linear.weight, 4.0)
        nn.init.constant_(self.linear.bias, 0.1)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.linear(x * 0.75)
        return result / 4 if self.divide else result


class TwoLayerSigmoid(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer1 = nn.Linear(1, 2, bias=False)
        self.layer2 = nn.Linear(2, 2, bias=False)
        with torch.no_grad():
            self.layer1.weight.copy_(torch.tensor([[1.0], [2.0]]))
            self.layer2.weight.copy_(torch.tensor([[3.0, 4.0], [5.0, 6.0]]))

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.layer2(torch.sigmoid(self.layer1(x))))


def linear_testnet(divide: bool = True) -> ModuleProblem:
    """Linear 4 → 1 with all weights 4 and bias 0.1, between a product and a division."""

    def make() -> Network:
        x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        return Network(TestNet(divide), (x,), lambda result: result.sum())

    end = f"net = TestNet(divide={divide})\nx = torch.tensor([1.0, 2.0, 3.0, 4.0], "
    return ModuleProblem(
        name="TestNet" if divide else "TestNet without the division",
        title="TestNet: full or deprecated backward hook",
        make=make,
        source=source_of(TestNet, end=end + "requires_grad=True)"),
        loss_source="loss = net(x).sum()",
        note="forward computes linear(0.75 x) / 4."
        if divide
        else "forward computes linear(0.75 x).",
    )


def two_layer_sigmoid() -> ModuleProblem:
    """Two linear layers without biases and two sigmoids; half the squared error."""

    def make() -> Network:
        y = torch.tensor([[1.0, 0.0]])
        return Network(
            TwoLayerSigmoid(),
            (torch.tensor([[1.0]]),),
            lambda output: ((output - y) ** 2).sum() / 2,
        )

    end = "net = TwoLayerSigmoid()\nx = torch.tensor([[1.0]])\ny = torch.tensor([[1.0, 0.0]])"
    return ModuleProblem(
        name="two-layer sigmoid",
        title="Two layers with sigmoids",
        make=make,
        source=source_of(TwoLayerSigmoid, end=end),
        loss_source="loss = ((net(x) - y) ** 2).sum() / 2",
        note="Both sigmoids are calls of torch.sigmoid inside forward, not layers.",
    )


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
    """40 images of noise in two classes, passed one at a time: for accumulated gradients."""
    return sampled(
        "ToyModel",
        "ToyModel: gradients accumulate",
        lambda: Samples(*toy_data(), F.cross_entropy),
        source=source_of(ToyModel, toy_data, end="net, images, labels = toy_data()"),
        loss_source="loss = F.cross_entropy(net(images[:1]), labels[:1])",
        note="Both ReLUs are calls of F.relu inside forward, so no module hook observes them.",
    )
