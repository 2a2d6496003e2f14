"""What is said of a run whose loss has grown."""

import pytest

from explorer.training import PRESETS, ProgramProblem, TrainingSession
from explorer.training.history import count_steps
from explorer.training.stability import explain_growth, last_move

VALLEY = PRESETS["ill-conditioned quadratic"]


def said(session: TrainingSession, names: tuple[str, ...] = ("a", "b")) -> str:
    start = session.points()[0].values
    ahead = session.look_ahead(steps=1, start=start, curvature=1.0)
    moved = last_move([point.values for point in session.points()])
    return explain_growth(session.view().track, 0, ahead, names, moved)


def test_plain_sgd_above_its_limit() -> None:
    session = TrainingSession(VALLEY, lr=0.6)
    session.iterate(13)
    losses = session.view().track.loss.values
    assert losses[-1] == pytest.approx(2 * (2 * 1.4**12) ** 2, rel=0.01)  # 1 − 0.6 · 4 = −1.4
    assert said(session) == (
        f"The loss grew from 10.5 to {float(f'{losses[-1]:.3g}'):g} in 12 steps: "
        "each step overshoots along b, because lr · curvature = 2.4 > 2."
    )


@pytest.mark.parametrize(
    ("hyper", "reason"),
    [
        ({"lr": 1.1, "momentum": 0.9}, "lr · curvature = 4.4 > 2 · (1 + momentum) = 3.8."),
        ({"lr": 0.55, "weight_decay": 0.5}, "lr = 0.55 is above 2 / (λ + weight_decay) = 0.444."),
    ],
)
def test_the_limit_is_that_of_the_settings(hyper: dict[str, float], reason: str) -> None:
    session = TrainingSession(VALLEY, **hyper)
    session.iterate(40)
    assert said(session).endswith(reason)


def quadratic(curve: float) -> ProgramProblem:
    start = "torch.tensor({}, requires_grad=True)"
    setup = f"import torch\na = {start.format(1.0)}\nb = {start.format(0.0)}"
    return ProgramProblem(setup, f"loss = a**2 + {curve} * b**2")


@pytest.mark.parametrize(
    ("curve", "reason"),
    [(2.2, ""), (1.0, ": each step overshoots, because lr · curvature = 2.2 > 2")],
)
def test_the_direction_is_that_of_the_path(curve: float, reason: str) -> None:
    """Here b never moves, and among equal curvatures no direction is the steepest."""
    session = TrainingSession(quadratic(curve), lr=1.1)
    session.iterate(30)
    assert said(session).endswith(f" in 29 steps{reason}.")


def test_up_to_the_first_loss_that_is_not_finite() -> None:
    session = TrainingSession(VALLEY, lr=2.0)
    session.iterate(200, until_trouble=True)
    assert session.view().track.trouble == "The loss became inf after step 23."
    assert said(session).startswith("The loss grew from 10.5 to 1.22e38 in 22 steps: ")


@pytest.mark.parametrize("hyper", [{"lr": 0.4}, {"lr": 0.5}, {"lr": 0.4, "momentum": 0.9}])
def test_nothing_of_a_run_that_does_not_diverge(hyper: dict[str, float]) -> None:
    session = TrainingSession(VALLEY, **hyper)
    for _ in range(30):
        session.iterate()
        assert said(session) == ""


@pytest.mark.parametrize(
    ("problem", "optimizer", "hyper"),
    [
        (PRESETS["rosenbrock"], "SGD", {"lr": 0.01}),  # its curvature changes
        (PRESETS["parabola"], "SGD", {"lr": 1.0, "maximize": True}),
        (VALLEY, "SGD", {"lr": 0.6, "clip": {"name": "clip_grad_value_", "clip_value": 1e9}}),
    ],
)
def test_no_reason_where_none_is_known(
    problem: ProgramProblem, optimizer: str, hyper: dict[str, float]
) -> None:
    session = TrainingSession(problem, optimizer, **hyper)
    session.iterate(30, until_trouble=True)
    assert said(session).startswith("The loss grew from ")
    assert "because" not in said(session)


def test_steps_that_use_more_than_one_backward_are_counted_and_told() -> None:
    session = TrainingSession(VALLEY, lr=0.1)
    session.iterate(2)
    for press in (session.zero_grad, session.forward, session.backward, session.step):
        press()
    assert count_steps(session.actions) == (3, True)
    for press in (session.forward, session.backward, session.step):
        press()
    assert count_steps(session.actions) == (4, False)
