"""The small problems to begin with. Each is two texts that a reader can copy and change."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.training.batches import Rows
from explorer.training.program import ProgramProblem


@dataclass(frozen=True)
class Preset(ProgramProblem):
    """A small problem, the question it answers and the settings that show the answer.

    `sgd_lr` is the learning rate for SGD, `adaptive_lr` that for optimizers that divide by the
    gradient's size; `compare` has the runs that `note` speaks of (see `compare.parse_runs`).
    """

    question: str = ""
    sgd_lr: float = 0.1
    adaptive_lr: float = 0.1
    compare: str = ""


def _numbers(**start: float) -> str:
    """The setup of a problem in these numbers."""
    lines = (f"{name} = torch.tensor({x}, requires_grad=True)\n" for name, x in start.items())
    return f"import torch\n\n{''.join(lines)}"


_PRESETS = (
    Preset(
        name="ill-conditioned quadratic",
        title="Ill-conditioned quadratic",
        setup=_numbers(a=-5.0, b=-2.0),
        loss="loss = 0.1 * a ** 2 + 2 * b ** 2",
        question="How much momentum helps in a narrow valley?",
        note="b is 20 times steeper than a: plain SGD zigzags across the valley and crawls along "
        "it. At lr = 0.4, momentum 0.5 is much faster; 0.9 overshoots and is slower than none.",
        sgd_lr=0.4,
        adaptive_lr=0.3,
        compare="SGD lr=0.4 momentum=0.5; SGD lr=0.4 momentum=0.9",
    ),
    Preset(
        name="parabola",
        title="Parabola",
        setup=_numbers(x=10.0),
        loss="loss = x ** 2",
        question="At which learning rate does gradient descent diverge?",
        note="The gradient is 2x, so without momentum each step multiplies x by 1 − 2·lr: by 0.6 "
        "at lr = 0.2. At lr = 1, x jumps between 10 and −10 forever.",
        sgd_lr=0.2,
        adaptive_lr=1.0,
        compare="SGD lr=0.9; SGD lr=1.01",
    ),
    Preset(
        name="rosenbrock",
        title="Rosenbrock's banana",
        setup=_numbers(x=-1.5, y=2.0),
        loss="loss = (1 - x) ** 2 + 100 * (y - x ** 2) ** 2",
        question="What helps along a curved valley?",
        note="SGD is in the valley after a few steps, then crawls towards the minimum at (1, 1). "
        "With momentum 0.9, or with Adam, the loss after 500 steps is hundreds of times smaller.",
        sgd_lr=0.001,
        adaptive_lr=0.1,
        compare="SGD lr=0.001 momentum=0.9; Adam lr=0.1",
    ),
    Preset(
        name="saddle",
        title="Saddle",
        setup=_numbers(x=1.5, y=0.001),
        loss="loss = x ** 2 / 2 + (y ** 2 - 1) ** 2 / 4",
        question="How long does a saddle hold a run up?",
        note="At (0, 0) the gradient is 0, but it is no minimum: the loss falls along y. Plain SGD "
        "needs about 65 steps to leave, with momentum 0.9 about 25; Adam needs 6.",
        sgd_lr=0.1,
        adaptive_lr=0.1,
        compare="SGD lr=0.1 momentum=0.9; Adam lr=0.1",
    ),
    Preset(
        name="two minima",
        title="Two minima",
        setup=_numbers(x=2.0),
        loss="loss = (x ** 2 - 1) ** 2 + x + 1.1",
        question="Can momentum carry a run over a barrier?",
        note="The minimum on the left is deeper. Plain SGD stops in the one on the right. Momentum "
        "0.7 rolls on into the left one; momentum 0.9 rolls there and back again.",
        sgd_lr=0.025,
        adaptive_lr=0.3,
        compare="SGD lr=0.025 momentum=0.7; SGD lr=0.025 momentum=0.9",
    ),
    Preset(
        name="plateau",
        title="Plateau",
        setup=_numbers(x=4.0),
        loss="loss = 1 - torch.exp(-x ** 2 / 2)",
        question="Why does Adam cross a plateau where SGD stands still?",
        note="At x = 4 the gradient is 0.0013, and SGD's step is lr times that. Adam divides by "
        "the gradient's size, so its steps are about lr long however flat the loss is.",
        sgd_lr=1.0,
        adaptive_lr=0.2,
        compare="SGD lr=1 momentum=0.9; Adam lr=0.2",
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
        question="Does momentum always help?",
        note="1,000 points made with w = [2, −3.4], b = 4.2 and a little noise; SGD recovers them. "
        "All directions are equally steep, so momentum 0.9 only overshoots.",
        compare="SGD lr=0.1 momentum=0.9",
        rows=Rows(1000, ("X", "y")),
    ),
    Preset(
        name="unscaled features",
        title="Features of different scales",
        setup="""\
import torch

X = torch.randn(500, 2) * torch.tensor([1.0, 0.2])
y = X @ torch.tensor([2.0, -3.0]) + 0.1 * torch.randn(500)
w = torch.zeros(2, requires_grad=True)
""",
        loss="loss = ((X @ w - y) ** 2 / 2).mean()",
        question="Why are features scaled before training?",
        note="The second feature is 5 times smaller, so the loss is about 25 times flatter along "
        "w[1]: plain SGD finds w[0] at once and w[1] slowly. Momentum 0.7 is faster, 0.98 slower.",
        sgd_lr=1.0,
        adaptive_lr=0.2,
        compare="SGD lr=1 momentum=0.7; SGD lr=1 momentum=0.98",
        rows=Rows(500, ("X", "y")),
    ),
)
#: By name, in the order they are offered.
PRESETS = {preset.name: preset for preset in _PRESETS}
