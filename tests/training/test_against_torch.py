"""Every problem and every setting of an optimizer gives plain PyTorch's parameters, bit for bit."""

import pytest

from explorer import networks
from explorer.networks.planar import DATA, planar
from explorer.program import ProgramRefused
from explorer.training import PRESETS, Child, ProgramProblem, TrainingSession
from tests.marks import sample
from tests.training.plain import MATRICES, SETTINGS, ask, loop, same, suited

OWN = ProgramProblem(
    setup="""\
import torch
import torch.nn as nn
import torch.nn.functional as F

net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.3), nn.Linear(4, 2))
scale = torch.ones(2, dtype=torch.float64, requires_grad=True)
data = torch.randn(24, 3)
labels = torch.randint(0, 2, (24,))
start = 0
""",
    loss="""\
batch = slice(start, start + 8)
start = (start + 8) % 24
out = net(data[batch] + 0.1 * torch.randn(8, 3)) * scale
F.cross_entropy(out, labels[batch])
""",
)
SMALL = {"matrices": MATRICES, **PRESETS, **{name: planar(name) for name in DATA}, "own": OWN}
#: Without a state, with one, and with a closure.
FEW = [
    ("SGD", {"lr": 0.01}),
    ("Adam", {"lr": 0.05}),
    ("LBFGS", {"lr": 0.5, "max_iter": 4}),
]


def pairs():
    """These problems with every setting, the others with three; OWN has all of them below."""
    few = [setting for setting in SETTINGS if setting in FEW]
    assert len(few) == len(FEW)
    for name, problem in SMALL.items():
        for setting in SETTINGS if name in ("matrices", "rosenbrock") else few:
            yield pytest.param(problem, *setting, id=f"{name}-{setting[0]}")


@pytest.mark.parametrize(("problem", "optimizer", "hyper"), pairs())
def test_fifty_steps(problem, optimizer, hyper):
    if suited(optimizer, problem) is not problem:
        with pytest.raises(ProgramRefused, match="matrices only"):
            TrainingSession(problem, optimizer, **hyper)
        return
    session = TrainingSession(problem, optimizer, seed=2, **hyper)
    assert session.iterate(50).ok
    got = [p.value for p in session.parameters.values()]
    assert same(got, loop(problem, optimizer, 50, seed=2, **hyper))
    assert len(session.losses) == 50


@pytest.mark.parametrize(
    "name",
    [
        "all weights 0.1",
        "all weights 0.1, early log-softmax",
        "all weights 0.1, float64",
        "two-layer sigmoid",
        "linear layer, divided by 4",
        "MLP on moons",
        "LeNet-5",
    ],
)
@pytest.mark.parametrize(
    ("optimizer", "hyper"), [("SGD", {"lr": 0.01, "momentum": 0.9}), ("Adam", {"lr": 0.01})]
)
def test_networks(name, optimizer, hyper):
    problem = networks.problem(name)
    session = TrainingSession(problem, optimizer, **hyper)
    assert session.iterate(50).ok
    got = [p.value for p in session.parameters.values()]
    assert same(got, loop(problem, optimizer, 50, **hyper))


@pytest.mark.parametrize(("optimizer", "hyper"), sample(SETTINGS, every=4))
def test_own_program_through_replay(optimizer, hyper):
    own = suited(optimizer, OWN)
    session = TrainingSession(own, optimizer, seed=5, where=Child(ask), **hyper)
    for count in (1, 20, 29):
        assert session.iterate(count).ok
    got = [p.value for p in session.parameters.values()]
    assert same(got, loop(own, optimizer, 50, seed=5, **hyper))


def test_single_calls_are_an_iteration():
    session = TrainingSession(SMALL["spiral"], "Adam", lr=0.02)
    for _ in range(10):
        assert session.zero_grad().ok
        assert session.forward().ok
        assert session.backward().ok
        assert session.step().ok
    got = [p.value for p in session.parameters.values()]
    assert same(got, loop(SMALL["spiral"], "Adam", 10, lr=0.02))


def test_hyperparameters_change_mid_run():
    """Against a plain loop whose param_groups are changed at the same place."""
    import torch

    session = TrainingSession(PRESETS["parabola"], lr=0.1, momentum=0.9)
    session.iterate(3)
    session.set(lr=0.02, momentum=0.5)
    session.iterate(3)
    x = torch.tensor(10.0, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1, momentum=0.9)
    for step in range(6):
        if step == 3:
            optimizer.param_groups[0]["lr"] = 0.02
            optimizer.param_groups[0]["momentum"] = 0.5
        optimizer.zero_grad()
        (x**2).backward()
        optimizer.step()
    assert session.parameters["x"].value == x.detach().numpy()
