"""A run that diverges: where it stops, and what its picture shows."""

import numpy as np
import pytest
import torch

from explorer.training import PRESETS, ProgramProblem, TrainingSession
from explorer.training.landscape import extent_of_path, losses_at, near_part
from explorer.training.planes import Plane

SETTINGS = {"lr": 3.8, "momentum": 0.9}


def plain_path() -> list[float]:
    """x before each iteration of plain PyTorch, to the first whose loss is not finite."""
    x = torch.tensor(10.0, requires_grad=True)
    optimizer = torch.optim.SGD([x], **SETTINGS)
    path = []
    while True:
        path.append(x.item())
        optimizer.zero_grad()
        loss = x**2
        loss.backward()
        optimizer.step()
        if not torch.isfinite(loss):
            return path


@pytest.fixture
def stopped() -> TrainingSession:
    session = TrainingSession(PRESETS["parabola"], **SETTINGS)
    assert session.iterate(200, until_trouble=True).ok
    return session


def picture(session: TrainingSession, plane: Plane) -> np.ndarray:
    points = session.points()
    path = near_part(plane.place(points), losses_at(points, session.view()))
    return extent_of_path(plane, path)


def test_it_stops_where_the_loss_becomes_infinite(stopped: TrainingSession) -> None:
    path = plain_path()
    assert stopped.view().track.steps == len(path)
    assert stopped.view().track.trouble == f"The loss became inf after step {len(path) - 1}."
    assert stopped.last_update("x") is not None
    assert stopped.undo().ok
    assert stopped.parameters["x"].value == path[0]


def test_it_goes_on_if_it_was_in_trouble_before(stopped: TrainingSession) -> None:
    before = stopped.view().track.steps
    stopped.iterate(3, until_trouble=True)
    assert stopped.view().track.steps == before + 3


def test_the_picture_shows_its_first_steps(stopped: TrainingSession) -> None:
    line = Plane(np.zeros(1), np.ones(1), np.zeros(1), ("x", "loss"), exact=True)
    low, high = picture(stopped, line)[:, 0]
    path = np.array(plain_path())
    seen = path[(path >= low) & (path <= high)]
    assert list(seen) == list(path[: len(seen)])
    assert len(seen) >= 3
    assert high - low < 4 * np.ptp(seen)  # and not as a dot


@pytest.mark.parametrize("iterations", [3, 60])
def test_the_picture_goes_as_far_as_a_run_that_goes_down(iterations: int) -> None:
    start = "w = torch.zeros(2, requires_grad=True)"
    problem = ProgramProblem(setup=f"import torch\n{start}", loss="loss = ((w - 500)**2).sum()")
    session = TrainingSession(problem, lr=0.1)
    assert session.iterate(iterations).ok
    axes = np.eye(2)
    plane = Plane(np.zeros(2), axes[0], axes[1], ("w[0]", "w[1]"), exact=True)
    _, high = picture(session, plane)
    assert high == pytest.approx(session.parameters["w"].value)


@pytest.mark.parametrize(
    ("loss", "hyper", "iterations"),
    [
        ("loss = x**2", {"lr": 1000.0}, 1),
        ("loss = -(x**2)", {"lr": 0.5}, 40),
        ("loss = x**2", {"lr": 0.5, "maximize": True}, 40),
    ],
)
def test_the_picture_does_not_follow_what_runs_away(
    loss: str, hyper: dict[str, float], iterations: int
) -> None:
    problem = ProgramProblem("import torch\nx = torch.tensor(1.0, requires_grad=True)", loss)
    session = TrainingSession(problem, **hyper)
    session.iterate(iterations)
    line = Plane(np.zeros(1), np.ones(1), np.zeros(1), ("x", "loss"), exact=True)
    low, high = picture(session, line)[:, 0]
    assert -150 < low < high < 150


def test_the_picture_follows_a_climb_to_a_far_maximum() -> None:
    problem = ProgramProblem(
        "import torch\nx = torch.tensor(0.0, requires_grad=True)", "loss = -((x - 500) ** 2)"
    )
    session = TrainingSession(problem, lr=0.1, maximize=True)
    session.iterate(60)
    line = Plane(np.zeros(1), np.ones(1), np.zeros(1), ("x", "loss"), exact=True)
    assert picture(session, line)[1, 0] == pytest.approx(500, rel=0.01)
