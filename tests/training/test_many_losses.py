"""The loss at many places in one pass, against one place after the other."""

import numpy as np
import pytest

from explorer.networks.planar import planar
from explorer.training import PRESETS, Problem, ProgramProblem, TrainingSession, loss_surface
from explorer.training.landscape import _losses_at
from explorer.training.many_losses import many_losses
from explorer.training.planes import through_elements, through_random
from explorer.training.problem import Live

pytestmark = pytest.mark.fast

_SETUP = """\
import torch
from torch import nn

x = torch.linspace(-1, 1, 12).view(-1, 1)
net = nn.Sequential(nn.Linear(1, 3), nn.Tanh(), nn.Linear(3, 1))
parts = [torch.tensor([0.5, -1.0], requires_grad=True)]
read = lambda: parts[0] * 2
"""
_LOSS = """\
noise = torch.rand(12, 1)
out = torch.stack([net(x)[:, 0], (x * read()).sum(1)]) + noise[:, 0]
loss = (out**2).mean() + sum(p.abs().sum() for p in net.parameters())
"""


def _points(live: Live, count: int = 50) -> np.ndarray:
    size = sum(p.numel() for p in live.parameters.values())
    return np.random.default_rng(0).normal(size=(count, size))


@pytest.mark.parametrize(
    "problem",
    [PRESETS["rosenbrock"], planar("moons"), ProgramProblem(_SETUP, _LOSS)],
    ids=["rosenbrock", "planar", "program"],
)
def test_all_at_once_as_one_by_one(problem: Problem) -> None:
    live = problem.build(3)
    points = _points(live)
    before = {name: p.detach().clone() for name, p in live.parameters.items()}
    together = many_losses(live, points)
    assert all(bool((p == before[name]).all()) for name, p in live.parameters.items())
    assert together == pytest.approx(_losses_at(problem.build(3), points), rel=1e-5)


def test_a_surface_calls_the_loss_a_few_times() -> None:
    problem = PRESETS["rosenbrock"]
    calls = 0

    class Counted:
        name, title = problem.name, problem.title
        source, loss_source = problem.source, problem.loss_source
        parameters_source = problem.parameters_source

        def build(self, seed: int = 0) -> Live:
            live = problem.build(seed)
            compute = live.loss

            def loss() -> object:
                nonlocal calls
                calls += 1
                return compute()

            live.loss = loss
            return live

    points = TrainingSession(problem, lr=1e-3).points()
    plane = through_elements(points[-1], ("x", ()), ("y", ()))
    found = loss_surface(Counted(), plane, points)  # type: ignore[arg-type]
    assert found.loss.shape == (41, 41)
    assert calls < 100


@pytest.mark.parametrize(
    ("setup", "loss", "expected"),
    [
        ("", "loss = w.sum() * 2 if w[0] > 0 else w.sum()", lambda a, b: (a + b) * (1 + (a > 0))),
        ("copy = w.detach()", "loss = (w * copy).sum()", lambda a, b: a * a + b * b),
        ("first = w.detach()[0]", "loss = w[1] * first", lambda a, b: a * b),
        ("", "loss = w.sum() * w[0].item()", lambda a, b: (a + b) * a),
        ("m = torch.zeros(2)", "loss = (m.copy_(w.detach()) * w).sum()", lambda a, b: a**2 + b**2),
    ],
    ids=["if", "alias", "view", "item", "in place"],
)
def test_a_loss_that_cannot_be_batched_is_computed_one_by_one(
    setup: str, loss: str, expected: object
) -> None:
    start = "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\n"
    problem = ProgramProblem(start + setup, loss)
    points = TrainingSession(problem, lr=0.1).points()
    plane = through_elements(points[-1], ("w", (0,)), ("w", (1,)))
    found = loss_surface(problem, plane, points, size=7)
    a, b = np.meshgrid(found.x, found.y)
    assert found.loss == pytest.approx(expected(a, b), rel=1e-5, abs=1e-6)  # type: ignore[operator]


def test_what_it_leaves_behind_in_a_program_is_not_seen() -> None:
    """A program that keeps what it computed gets a fresh start where this way does not work."""
    start = "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\nkept = [1.0]\n"
    loss = "loss = (w * kept[-1]).sum()\nkept[-1] = torch.sign(loss.detach()) * 0 + 1\nfloat(loss)"
    problem = ProgramProblem(start, loss)
    points = TrainingSession(problem, lr=0.1).points()
    plane = through_random(points[-1])
    found = loss_surface(problem, plane, points, size=5)
    a, b = np.meshgrid(found.x, found.y)
    rows = plane.origin + a[..., None] * plane.first + b[..., None] * plane.second
    assert found.loss == pytest.approx(rows.sum(-1), rel=1e-5, abs=1e-6)
