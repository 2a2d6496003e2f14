"""Recording a program: `explorer.run`

Compared with the same text compiled and run by plain PyTorch in the same process.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.measure import Budget, Row, compare
from explorer.program import Program, Run, Watcher
from explorer.trace import run

EXAMPLE_A = """
import torch
x = torch.tensor([[1., 2.]], requires_grad=True)
y = x + 2
z = 3 * y**2
out = z.mean()
out.backward()
"""

TOY = """
import torch
import torch.nn as nn
import torch.nn.functional as F
class ToyModel(nn.Module):
    def __init__(self, c1, c2, c3):
        super().__init__()
        self.tmp = nn.Conv2d(c1, 6, 3)
        self.conv1 = nn.Conv2d(c1, 6, 3)
        self.conv2 = nn.Conv2d(6, c2, 3)
        self.fc = nn.Linear(c2, c3, bias=False)
    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.fc(x)
model = ToyModel(3, 64, 2)
images = torch.randn(4, 3, 224, 224)
labels = torch.randint(0, 2, (4,))
for i in range(4):
    loss = F.cross_entropy(model(images[i:i + 1]), labels[i:i + 1])
    loss.backward()
"""

LOOP = """
import torch
w = torch.tensor([1., 2.], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for i in range(100):
    opt.zero_grad()
    loss = (w**2).sum()
    loss.backward()
    opt.step()
"""

OPERATIONS = """
import torch
w, x = torch.tensor([1., 2.], requires_grad=True), torch.tensor([3., 4.])
for i in range(500):
    y = w * x
    z = y + 1.0
    loss = (z - x).sum()
    a, b = torch.tanh(z)
    c = a.exp().mean() + z[0]
"""

#: Name, program, budget, and how often it is run.
PROGRAMS = (
    ("example A: five lines", EXAMPLE_A, Budget(0.010, "absolute"), 50),
    ("ToyModel, one pass on each of 4 images of 224 × 224", TOY, Budget(2, "ratio"), 15),
    ("100 steps of SGD on two numbers", LOOP, None, 15),
)

UNRECORDED = "without recording: 500 turns of a loop of small tensors"


def rows(most: int) -> Iterator[Row]:
    for what, source, budget, runs in PROGRAMS:
        assert run(source).error is None
        ours, bare = partial(run, source), partial(plain, source)
        yield compare(what, ours, "plain torch", bare, budget, runs=min(runs, most))
    alone, bare = partial(unrecorded, OPERATIONS), partial(plain, OPERATIONS)
    budget = Budget(1.5, "ratio")
    yield compare(UNRECORDED, alone, "plain torch", bare, budget, runs=min(15, most))


def unrecorded(source: str) -> None:
    """Run a program without recording it."""
    with Run(Program(source), Watcher()).to_end(0):
        pass


def plain(source: str) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<plain>", "exec"), names)
