"""Every problem shows what its note says: real runs, and closed forms where there are any."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.training import PRESETS, TrainingSession
from explorer.training.compare import RunSetting, parse_runs

pytestmark = pytest.mark.fast

QUADRATIC = "ill-conditioned quadratic"


def after(problem: str, setting: str, steps: int) -> TrainingSession:
    """A run of so many iterations."""
    run = RunSetting.parse(setting)
    session = TrainingSession(PRESETS[problem], run.optimizer, **run.hyper)
    assert session.iterate(steps).ok
    return session


def loss_after(problem: str, setting: str, steps: int) -> float:
    session = after(problem, setting, steps)
    session.forward()
    return session.losses[-1]


#: Who is better, than whom, after how many iterations, by what factor in the loss at least.
CLAIMS = [
    ("parabola", "SGD lr=0.2", "SGD lr=0.9", 20, 1e4),
    ("parabola", "SGD lr=0.9", "SGD lr=1.01", 20, 1e4),
    (QUADRATIC, "SGD lr=0.4 momentum=0.5", "SGD lr=0.4", 40, 1e4),
    (QUADRATIC, "SGD lr=0.4", "SGD lr=0.4 momentum=0.9", 40, 20),
    ("rosenbrock", "SGD lr=0.001 momentum=0.9", "SGD lr=0.001", 500, 300),
    ("rosenbrock", "Adam lr=0.1", "SGD lr=0.001", 500, 300),
    ("saddle", "SGD lr=0.1 momentum=0.9", "SGD lr=0.1", 40, 4),
    ("saddle", "Adam lr=0.1", "SGD lr=0.1", 40, 20),
    ("two minima", "SGD lr=0.025 momentum=0.7", "SGD lr=0.025", 100, 20),
    ("two minima", "SGD lr=0.025 momentum=0.7", "SGD lr=0.025 momentum=0.9", 100, 20),
    ("two minima", "Adam lr=0.3", "SGD lr=0.025", 100, 20),
    ("plateau", "Adam lr=0.2", "SGD lr=1", 100, 1000),
    ("plateau", "Adam lr=0.2", "SGD lr=1 momentum=0.9", 40, 20),
    ("linear regression", "SGD lr=0.1", "SGD lr=0.1 momentum=0.9", 50, 50),
    ("unscaled features", "SGD lr=1 momentum=0.7", "SGD lr=1", 20, 5),
    ("unscaled features", "SGD lr=1", "SGD lr=1 momentum=0.98", 50, 20),
]


@pytest.mark.parametrize(("problem", "better", "worse", "steps", "factor"), CLAIMS)
def test_the_better_setting_is_better(problem, better, worse, steps, factor):
    assert loss_after(problem, better, steps) * factor < loss_after(problem, worse, steps)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda p: p.name)
def test_every_proposal_is_tried_above(preset):
    runs = parse_runs(preset.compare)
    opening = RunSetting("SGD", {"lr": preset.sgd_lr})
    tried = {setting for claim in CLAIMS if claim[0] == preset.name for setting in claim[1:3]}
    assert runs
    assert {str(opening), *map(str, runs)} <= tried
    assert preset.question.endswith("?")
    for run in runs:
        if run.optimizer != "SGD":
            assert run == RunSetting(run.optimizer, {"lr": preset.adaptive_lr})
        else:
            assert run.hyper["lr"] == preset.sgd_lr or "momentum" not in run.hyper


def heavy_ball(start: float, curvature: float, lr: float, momentum: float, steps: int) -> float:
    """Where SGD with momentum is on a parabola, by the powers of its matrix.

    x' = x − lr·v', v' = momentum·v + curvature·x (https://distill.pub/2017/momentum/)."""
    step = np.array(
        [[1 - lr * curvature, -lr * momentum], [curvature, momentum]],
    )
    return float((np.linalg.matrix_power(step, steps) @ [start, 0.0])[0])


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("steps", [1, 10, 40])
def test_the_quadratic_is_its_closed_form(momentum, steps):
    run = after(QUADRATIC, f"SGD lr=0.4 momentum={momentum}", steps).parameters
    for name, start, curvature in (("a", -5.0, 0.2), ("b", -2.0, 4.0)):
        expected = heavy_ball(start, curvature, 0.4, momentum, steps)
        assert run[name].value == pytest.approx(expected, rel=2e-4, abs=1e-6)


def contraction(lr: float, momentum: float) -> float:
    """The factor a step of SGD with momentum has in the end, on curvatures 0.2 and 4: the largest
    root of z² − (1 + momentum − lr·λ)z + momentum (Polyak 1964)."""
    roots = [np.roots([1, -(1 + momentum - lr * c), momentum]) for c in (0.2, 4.0)]
    return float(np.abs(roots).max())


@pytest.mark.parametrize(
    ("lr", "momentum", "factor"),
    [
        (0.4, 0.0, 0.92),
        (0.4, 0.5, 0.774),
        (0.4, 0.9, 0.949),
        (2 / 4.2, 0.0, 0.905),
        ((2 / (20**0.5 + 1)) ** 2 / 0.2, ((20**0.5 - 1) / (20**0.5 + 1)) ** 2, 0.634),
    ],
)
def test_the_quadratic_contracts_as_theory_says(lr, momentum, factor):
    assert contraction(lr, momentum) == pytest.approx(factor, abs=2e-3)
    session = TrainingSession(PRESETS[QUADRATIC], lr=lr, momentum=momentum)
    session.iterate(120)
    first, last = (  # the energy of the slowest part: its parts swing, their bound shrinks
        max(abs(p.values[name].item()) for p in session.points()[i : i + 20] for name in "ab")
        for i in (50, 100)
    )
    assert (last / first) ** (1 / 50) == pytest.approx(factor, abs=0.02)


def test_the_parabola_diverges_above_two_over_the_curvature():
    assert after("parabola", "SGD lr=0.9", 20).parameters["x"].value == pytest.approx(
        10 * (-0.8) ** 20, rel=1e-4
    )
    assert after("parabola", "SGD lr=1", 21).parameters["x"].value == -10
    assert abs(after("parabola", "SGD lr=1.01", 20).parameters["x"].value) > 14


@pytest.mark.parametrize(
    ("setting", "steps"), [("SGD lr=0.1", 65), ("SGD lr=0.1 momentum=0.9", 25), ("Adam lr=0.1", 6)]
)
def test_how_long_the_saddle_holds_a_run(setting, steps):
    """Until y = 0.5; plain SGD multiplies y by 1.1 − 0.1·y²."""
    run = RunSetting.parse(setting)
    session, taken = TrainingSession(PRESETS["saddle"], run.optimizer, **run.hyper), 0
    while abs(session.parameters["y"].value) < 0.5:
        session.iterate()
        taken += 1
    assert taken == pytest.approx(steps, abs=3)


def test_which_minimum_is_reached():
    ends = {
        momentum: after("two minima", f"SGD lr=0.025 momentum={momentum}", 200)
        for momentum in (0.0, 0.7, 0.9)
    }
    at = {momentum: session.parameters["x"].value for momentum, session in ends.items()}
    for x in at.values():  # the gradient's roots
        assert min(abs(np.roots([4, 0, -4, 1]) - x)) < 1e-3
    assert at[0.7] < -1
    assert at[0.0] > 0.8
    assert at[0.9] > 0.8
    assert min(p.values["x"].item() for p in ends[0.9].points()) < -1  # and back again
    assert min(p.values["x"].item() for p in ends[0.0].points()) > 0.8


def test_the_plateau_is_flat_for_sgd_and_not_for_adam():
    session = after("plateau", "SGD lr=1", 1)
    assert session.parameters["x"].grad == pytest.approx(0.0013, abs=5e-5)
    x = after("plateau", "Adam lr=0.2", 5).parameters["x"].value
    assert x == pytest.approx(4 - 5 * 0.2, abs=0.1)


def test_a_feature_five_times_smaller_is_about_twenty_five_times_flatter():
    X = PRESETS["unscaled features"].tensors(0)["X"]
    curvatures = np.linalg.eigvalsh(X.T @ X / len(X))
    assert curvatures[1] / curvatures[0] == pytest.approx(25, rel=0.2)
