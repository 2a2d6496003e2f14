"""The small problems to begin with. Each is two texts that a reader can copy and change."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.training.program import ProgramProblem


@dataclass(frozen=True)
class Preset(ProgramProblem):
    """A small problem, with the learning rates that suit it: `sgd_lr` for SGD, `adaptive_lr` for
    the other optimizers."""

    sgd_lr: float = 0.1
    adaptive_lr: float = 0.1


_PRESETS = (
    Preset(
        name="parabola",
        title="Parabola",
        setup="""\
import torch

x = torch.tensor(10.0, requires_grad=True)
""",
        loss="loss = x ** 2",
        note="One number and the gradient 2x. With lr 0.2 it converges; above 1 it diverges.",
        sgd_lr=0.2,
        adaptive_lr=1.0,
    ),
    Preset(
        name="ill-conditioned quadratic",
        title="Ill-conditioned quadratic",
        setup="""\
import torch

a = torch.tensor(-5.0, requires_grad=True)
b = torch.tensor(-2.0, requires_grad=True)
""",
        loss="loss = 0.1 * a ** 2 + 2 * b ** 2",
        note="A narrow valley: b is 20 times steeper than a. Plain SGD crawls or zigzags; "
        "momentum helps.",
        sgd_lr=0.4,
        adaptive_lr=0.5,
    ),
    Preset(
        name="rosenbrock",
        title="Rosenbrock's banana",
        setup="""\
import torch

x = torch.tensor(-1.5, requires_grad=True)
y = torch.tensor(2.0, requires_grad=True)
""",
        loss="loss = (1 - x) ** 2 + 100 * (y - x ** 2) ** 2",
        note="A curved valley that is easy to reach and hard to follow; the minimum is at (1, 1).",
        sgd_lr=0.001,
        adaptive_lr=0.05,
    ),
    Preset(
        name="linear regression",
        title="Linear regression",
        setup="""\
import torch

X = torch.randn(1000, 2)
y = X @ torch.tensor([2.0, -3.4]) + 4.2 + 0.01 * torch.randn(1000)
w = torch.normal(0.0, 0.01, (2, 1), requires_grad=True)
b = torch.zeros(1, requires_grad=True)
""",
        loss="""\
y_hat = X @ w + b
loss = ((y_hat - y.view(y_hat.size())) ** 2 / 2).mean()
""",
        note="1,000 points made with w = [2, −3.4], b = 4.2 and a little noise; SGD recovers them.",
    ),
)
#: By name, in the order they are offered.
PRESETS = {preset.name: preset for preset in _PRESETS}
