"""Twenty layers on the same points, plain and residual: does the gradient reach the first layer?"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks.planar import moons
from explorer.networks.problems import SampledProblem, Samples, sampled, source_of


class Layer(nn.Module):
    """A linear layer and ReLU, with its input added to the result if it is residual: He et al.
    2015, https://arxiv.org/abs/1512.03385"""

    def __init__(self, width: int, residual: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.residual = residual

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.linear(x))
        return x + y if self.residual else y


class DeepNet(nn.Module):
    def __init__(self, layers: int, residual: bool) -> None:
        super().__init__()
        self.first = nn.Linear(2, 16)
        self.hidden = nn.Sequential(*(Layer(16, residual) for _ in range(layers - 2)))
        self.last = nn.Linear(16, 1)

    def forward(self, points: Tensor) -> Tensor:
        result: Tensor = self.last(self.hidden(F.relu(self.first(points)))).squeeze(1)
        return result


_END = """\
points, labels = moons(64, noise=0.1)
net = DeepNet(layers=20, residual={residual})
"""


def deep_net(residual: bool) -> SampledProblem:
    """20 layers on 64 points of two classes."""

    def collect() -> Samples:
        points, labels = moons(64, noise=0.1)
        criterion = F.binary_cross_entropy_with_logits
        return Samples(DeepNet(20, residual), points, labels, criterion)

    return sampled(
        "residual, 20 layers" if residual else "plain, 20 layers",
        "Does the gradient reach the first of 20 layers?",
        collect,
        source=source_of(moons, Layer, DeepNet, end=_END.format(residual=residual)),
        loss_source="loss = F.binary_cross_entropy_with_logits(net(points[:64]), labels[:64])",
        note="Each layer adds its result to its input, so the gradient also goes past it: the "
        "first hidden layer's is a third of the last one's (He et al. 2015)."
        if residual
        else "Each layer passes on only a part of the gradient. Less than a hundred-thousandth of "
        "what the last hidden layer gets arrives at the first: the gradient vanishes.",
        batch=64,
    )
