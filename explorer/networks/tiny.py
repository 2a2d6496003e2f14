"""Networks small enough to follow with pencil and paper."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from explorer.networks.source import source_of
from explorer.training.problem import ModuleProblem, Network


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
        title="TestNet: full against deprecated backward hook",
        make=make,
        source=source_of(TestNet, end=end + "requires_grad=True)"),
        loss_source="loss = net(x).sum()",
        note="forward computes linear(0.75 x) / 4." if divide else "forward: linear(0.75 x).",
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
        note="The sigmoids are functions of forward, not layers.",
    )
