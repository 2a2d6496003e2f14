"""The small preset networks and what makes their data; `presets.py` puts them together.

Their text is the script that the page shows, so each is complete in itself.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


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


class NormedNet(nn.Module):
    """Two convolutions, each followed by batch norm (Ioffe & Szegedy 2015,
    https://arxiv.org/abs/1502.03167) or layer norm (Ba et al. 2016,
    https://arxiv.org/abs/1607.06450); images of 16 × 16 pixels."""

    def __init__(self, norm: type[nn.Module], classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm1 = norm(8) if norm is nn.BatchNorm2d else norm([8, 8, 8])
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.norm2 = norm(16) if norm is nn.BatchNorm2d else norm([16, 4, 4])
        self.fc = nn.Linear(16, classes)

    def forward(self, images: Tensor) -> Tensor:
        x = F.relu(self.norm1(self.conv1(images)))
        x = F.relu(self.norm2(self.conv2(x)))
        scores: Tensor = self.fc(x.mean((2, 3)))
        return scores


class Recall(nn.Module):
    """Reads a sequence (samples, steps), one number at a time; at the end it says the first.

    Why that is hard: Pascanu et al. 2013, https://arxiv.org/abs/1211.5063
    """

    def __init__(self, cell: nn.RNNCell | nn.LSTMCell | nn.GRUCell) -> None:
        super().__init__()
        self.cell = cell
        self.read = nn.Linear(cell.hidden_size, 1)

    def forward(self, sequence: Tensor) -> Tensor:
        state = None
        for x in sequence.unsqueeze(2).unbind(1):
            state = self.cell(x, state)
        hidden = state[0] if isinstance(state, tuple) else state
        result: Tensor = self.read(hidden).squeeze(1)
        return result


def rnn_cell(size: int) -> nn.RNNCell:
    """W_hh is orthogonal: without the tanh it would keep the length of every gradient."""
    cell = nn.RNNCell(1, size)
    nn.init.orthogonal_(cell.weight_hh)
    return cell


def lstm_cell(size: int, steps: int) -> nn.LSTMCell:
    """Hochreiter & Schmidhuber 1997, https://doi.org/10.1162/neco.1997.9.8.1735; the forget gate
    starts open, as in Tallec & Ollivier 2018, https://arxiv.org/abs/1804.11188"""
    cell = nn.LSTMCell(1, size)
    nn.init.constant_(cell.bias_ih[size : 2 * size], math.log(steps - 1))
    return cell


def gru_cell(size: int, steps: int) -> nn.GRUCell:
    """Cho et al. 2014, https://arxiv.org/abs/1406.1078; the gate starts so that most of the state
    is kept."""
    cell = nn.GRUCell(1, size)
    nn.init.constant_(cell.bias_ih[size : 2 * size], math.log(steps - 1))
    return cell


def sequences() -> tuple[Tensor, Tensor]:
    """16 sequences of 50 random numbers, and the first number of each."""
    numbers = torch.randn(16, 50)
    return numbers, numbers[:, 0]


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


class ScaledLinear(nn.Module):
    def __init__(self, divide: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 1)
        self.divide = divide
        nn.init.constant_(self.linear.weight, 4.0)
        nn.init.constant_(self.linear.bias, 0.1)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.linear(x * 0.75)
        return result / 4 if self.divide else result


# A network whose weights are all 0.1, and gradients that are rounding errors: on images of ones,
# all of class 1, every class gets the same logit (about 9830), so the exact gradient below the last
# layer is 0 and equal weights stay equal.
#
# - With float32 and today's `cross_entropy`, conv1's gradient is a rounding error near -2.4e-07.
# - The log-softmax of early PyTorch had a hand-written backward that computes with its own rounded
#   output. Near 9830 neighbouring float32 numbers are 1/1024 apart, so log 20 is rounded and the
#   sum of 20 "probabilities" differs from 1 by 3.6e-4. Backward through the earlier layers
#   amplifies that to -0.078, which was once published as this network's gradient.
# - In double precision, |gradient| < 1e-12.
#
# In all of them new = old - lr * grad holds to the last bit.


class AllTenths(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.linear = nn.Linear(32 * 10 * 10, 20, bias=False)
        for weight in self.parameters():
            nn.init.constant_(weight, 0.1)

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.conv2(self.conv1(images))
        logits: Tensor = self.linear(features.flatten(1))
        return logits


class OldLogSoftmax(torch.autograd.Function):
    """log(softmax(x)) over dim 1, as early PyTorch computed and differentiated it."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> Tensor:
        top = logits.max(1, keepdim=True).values
        output = logits - (top + (logits - top).exp().sum(1, keepdim=True).log())
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (output,) = ctx.saved_tensors
        result: Tensor = grad - output.exp() * grad.sum(1, keepdim=True)
        return result
