"""Training loops: `explorer.run`

Compared with the same text compiled and run by plain PyTorch in the same process. Memory is the
peak of a fresh process. `python -m benchmarks.loops` draws the picture.
![Seconds by the number of steps](loops.png)
"""

from __future__ import annotations

import io
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.measure import Budget, Row, medians, process_memory
from benchmarks.trace import plain
from explorer.trace import run

PICTURE = Path(__file__).with_name("loops.png")

#: A cubic Legendre polynomial, with a backward of its own.
CUSTOM_FUNCTION = """
import math
import torch

class Cubic(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (5 * x**3 - 3 * x) / 2

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * (15 * x**2 - 3) / 2

x = torch.linspace(-math.pi, math.pi, 2000)
target = torch.sin(x)
a = torch.tensor(0.0, requires_grad=True)
b = torch.tensor(-1.0, requires_grad=True)
c = torch.tensor(0.0, requires_grad=True)
d = torch.tensor(0.3, requires_grad=True)
rate = 5e-6
for step in range({steps}):
    guess = a + b * Cubic.apply(c + d * x)
    loss = (guess - target).pow(2).sum()
    if step % 100 == 99:
        print(step, loss.item())
    loss.backward()
    with torch.no_grad():
        for weight in (a, b, c, d):
            weight -= rate * weight.grad
            weight.grad = None
"""

MODULE_AND_OPTIMIZER = """
import math
import torch

class Polynomial(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 1)

    def forward(self, powers):
        return self.linear(powers).flatten()

x = torch.linspace(-math.pi, math.pi, 2000)
powers = x.unsqueeze(-1) ** torch.tensor([1, 2, 3])
target = torch.sin(x)
model = Polynomial()
criterion = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for step in range({steps}):
    loss = criterion(model(powers), target)
    if step % 100 == 99:
        print(step, loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(model.linear.bias.item())
"""

TWO_LAYERS = """
import torch

x, target = torch.randn(64, 1000), torch.randn(64, 10)
w1 = torch.randn(1000, 100, requires_grad=True)
w2 = torch.randn(100, 10, requires_grad=True)
for step in range({steps}):
    guess = x.mm(w1).clamp(min=0).mm(w2)
    loss = (guess - target).pow(2).sum()
    if step % 100 == 99:
        print(step, loss.item())
    loss.backward()
    with torch.no_grad():
        w1 -= 1e-6 * w1.grad
        w2 -= 1e-6 * w2.grad
        w1.grad.zero_()
        w2.grad.zero_()
"""

TWO_PARAMETERS = """
import torch

x = torch.tensor([0.0, 1.0, 2.0, 3.0])
target = torch.tensor([1.0, 3.0, 5.0, 7.0])
w = torch.tensor(0.0, requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)
for epoch in range({steps}):
    guess = w * x + b
    loss = ((guess - target) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
        b -= 0.01 * b.grad
    w.grad.zero_()
    b.grad.zero_()
print(w, b)
"""

#: https://mattmazur.com/2015/03/17/a-step-by-step-backpropagation-example/
SIGMOID_NET = """
import torch

x, target = torch.tensor([0.05, 0.10]), torch.tensor([0.01, 0.99])
w1 = torch.tensor([[0.15, 0.20], [0.25, 0.30]], requires_grad=True)
w2 = torch.tensor([[0.40, 0.45], [0.50, 0.55]], requires_grad=True)
optimizer = torch.optim.SGD([w1, w2], lr=0.5)
losses = []
for step in range({steps}):
    hidden = torch.sigmoid(w1 @ x + 0.35)
    out = torch.sigmoid(w2 @ hidden + 0.60)
    loss = 0.5 * ((target - out) ** 2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
"""

LENET = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

net = nn.Sequential(
    nn.Conv2d(1, 6, 5, padding=2), nn.Sigmoid(), nn.AvgPool2d(2),
    nn.Conv2d(6, 16, 5), nn.Sigmoid(), nn.AvgPool2d(2), nn.Flatten(),
    nn.Linear(400, 120), nn.Sigmoid(), nn.Linear(120, 84), nn.Sigmoid(), nn.Linear(84, 10),
)
labels = torch.randint(0, 10, (512,))
images = torch.randn(512, 1, 28, 28) + labels.view(-1, 1, 1, 1)
batches = DataLoader(TensorDataset(images, labels), batch_size=512 // {steps}, shuffle=True)
optimizer = torch.optim.SGD(net.parameters(), lr=0.9)
correct = 0
for X, y in batches:
    scores = net(X)
    loss = nn.functional.cross_entropy(scores, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    correct += (scores.argmax(1) == y).sum().item()
print(correct / 512)
"""

#: How long it will run, nobody knows before.
UNTIL = """
from itertools import count
import torch

layer = torch.nn.Linear(4, 1)
for step in count(1):
    x = torch.randn(32)
    powers = torch.stack([x**i for i in range(1, 5)], 1)
    loss = torch.nn.functional.smooth_l1_loss(layer(powers), powers.sum(1, keepdim=True))
    layer.zero_grad()
    loss.backward()
    for parameter in layer.parameters():
        parameter.data.add_(parameter.grad, alpha=-0.01)
    if step == {steps}:
        break
print(step, loss.item())
"""

#: Functions and loops inside each other, of small operations: a hidden Markov model.
NESTED = """
import torch
from torch import nn

def log_sum_exp(x):
    most = x.max()
    return most + torch.log(torch.sum(torch.exp(x - most)))

class Forward(nn.Module):
    def __init__(self, states):
        super().__init__()
        self.states, self.move = states, nn.Parameter(torch.randn(states, states))

    def forward(self, scores):
        total = torch.zeros(self.states)
        for score in scores:
            nexts = []
            for state in range(self.states):
                nexts.append(log_sum_exp(total + self.move[state] + score[state]))
            total = torch.stack(nexts)
        return log_sum_exp(total)

model, scores = Forward(5), torch.randn(9, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range({steps}):
    optimizer.zero_grad()
    loss = model(scores)
    loss.backward()
    optimizer.step()
print(loss.item())
"""

#: A library calls a function of the program many times in one statement.
CALLED = """
from functools import reduce
import torch
from torch import nn

net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))
def euler(y, t):
    return y + 0.02 * net(y**3)
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
start = torch.tensor([[2.0, 0.0]])
for step in range({steps}):
    optimizer.zero_grad()
    loss = reduce(euler, range(60), start).abs().mean()
    loss.backward()
    optimizer.step()
print(loss.item())
"""

#: Name, program, steps, budget (a ratio: less where a step takes more than 1 ms), and how often it
#: is run.
PROGRAMS = (
    ("a custom autograd.Function on 2,000 points", CUSTOM_FUNCTION, 2_000, 2.5, 5),
    ("a polynomial with nn.Module and an optimizer", MODULE_AND_OPTIMIZER, 2_000, 2.5, 5),
    ("a two-layer net, 64 × 1000 → 100 → 10", TWO_LAYERS, 500, 2.5, 5),
    ("two parameters", TWO_PARAMETERS, 5_000, 2.5, 5),
    ("a 2-2-2 sigmoid net", SIGMOID_NET, 10_000, 2.5, 3),
    ("LeNet, one epoch of 512 images in batches", LENET, 16, 1.6, 9),
    ("until a condition holds", UNTIL, 8_000, 3, 3),
    ("nested loops and functions", NESTED, 250, 3, 3),
    ("a function that a library calls", CALLED, 250, 3, 3),
)
#: Numbers of steps with which the growth is measured.
STEPS = (500, 1_000, 2_000, 4_000, 8_000, 16_000)


def rows(most: int) -> Iterator[Row]:
    for what, program, steps, limit, runs in PROGRAMS:
        ours, bare = measure(program, steps, min(runs, most))
        budget = Budget(limit, "ratio")
        yield Row(f"{steps:,} steps: {what}", ours, "plain torch", bare, budget)
    yield growth_row(measure_growth(min(3, most)))
    yield memory_row()


def measure(program: str, steps: int, runs: int) -> tuple[float, float]:
    """Median seconds of the recorded run and of the plain one."""
    source = program.format(steps=steps)
    with redirect_stdout(io.StringIO()):
        ours, bare = medians(partial(recorded, source), partial(plain, source), runs=runs)
    return ours, bare


def recorded(source: str) -> None:
    """Run a program that must reach its end."""
    trace = run(source)
    assert trace.error is None, trace.error


def measure_growth(runs: int) -> dict[int, tuple[float, float]]:
    """By the number of steps: seconds of the recorded run and of the plain one."""
    return {steps: measure(TWO_PARAMETERS, steps, runs) for steps in STEPS}


def growth_row(growth: dict[int, tuple[float, float]]) -> Row:
    long, short = STEPS[-1], STEPS[1]
    return Row(
        f"one step of {long:,}: two parameters",
        growth[long][0] / long,
        f"one step of {short:,}",
        growth[short][0] / short,
        Budget(1.1, "ratio"),
    )


def memory_row() -> Row:
    long, short = (peak_memory(SIGMOID_NET.format(steps=steps)) for steps in (10_000, 100))
    what = "10,000 steps: memory beyond that of 100 steps, a 2-2-2 sigmoid net"
    return Row(what, long - short, budget=Budget(50, "absolute"), unit="MB")


def peak_memory(source: str) -> float:
    """The peak, in MB, of a fresh process that runs the program."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_peak_memory, source).result()


def _peak_memory(source: str) -> float:
    recorded(source)
    return process_memory("VmHWM")


def draw(growth: dict[int, tuple[float, float]], path: Path) -> None:
    """A plot of seconds by steps, of recorded and plain runs."""
    figure = Figure(figsize=(6.4, 4), dpi=100, layout="constrained")
    axes = figure.subplots()
    for label, seconds in zip(
        ("explorer.run", "plain PyTorch"), zip(*growth.values(), strict=True), strict=True
    ):
        axes.plot(list(growth), seconds, marker="o", label=label)
    axes.set(xlabel="steps of two parameters", ylabel="seconds", xlim=0, ylim=0)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    draw(measure_growth(3), PICTURE)
