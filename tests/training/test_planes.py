"""Planes through the space of parameters: directions, and the way there and back."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.networks.planar import planar
from explorer.training import (
    PRESETS,
    Plane,
    Point,
    ProgramProblem,
    TrainingSession,
    loss_surface,
    through_element,
    through_elements,
    through_gradient,
    through_path,
    through_random,
)

pytestmark = pytest.mark.fast


def moons(steps: int = 10) -> TrainingSession:
    session = TrainingSession(planar("moons"), "Adam", lr=0.01)
    session.iterate(steps)
    return session


def planes(session: TrainingSession) -> dict[str, Plane]:
    points = session.points()
    ahead = session.look_ahead(steps=1, seconds=60)
    name = next(iter(points[-1].values))
    return {
        "elements": through_elements(points[-1], (name, (0, 0)), (name, (1, 1))),
        "path": through_path(points),
        "random": through_random(points[-1], seed=3),
        "gradient": through_gradient(points[-1], ahead.gradient, ahead.update),
    }


@pytest.mark.parametrize("name", ["elements", "path", "random", "gradient"])
def test_there_and_back(name: str) -> None:
    session = moons()
    plane, point = planes(session)[name], session.points()[-1]
    there = Point(0, plane.point((0.375, -0.25), point))
    assert np.allclose(plane.place([there]), [[0.375, -0.25]], atol=1e-6)
    assert {n: v.dtype for n, v in there.values.items()} == {
        n: v.dtype for n, v in point.values.items()
    }
    change = {n: there.values[n].astype(float) - v for n, v in point.values.items()}
    here = plane.place([point])[0]
    assert np.allclose(plane.arrow(change, point), np.array([0.375, -0.25]) - here, atol=1e-6)
    assert np.allclose(plane.arrow({}, point), 0)
    assert plane.explanation.endswith(".")


@pytest.mark.parametrize("name", ["elements", "path", "random", "gradient"])
def test_a_drag_leaves_what_is_outside(name: str) -> None:
    """Moved back to its own coordinates, a point that lies outside is where it was."""
    session = moons()
    plane, point = planes(session)[name], session.points()[3]
    back = plane.point(tuple(plane.place([point])[0]), point)
    for key, value in point.values.items():
        assert np.allclose(back[key], value, atol=1e-6)


def test_an_element_becomes_its_coordinate() -> None:
    point = moons().points()[-1]
    name = next(iter(point.values))
    plane = through_elements(point, (name, (0, 0)), (name, (1, 1)))
    moved = plane.point((0.1, 1e9), point)
    assert moved[name][0, 0] == np.float32(0.1)
    assert moved[name][1, 1] == np.float32(1e9)
    moved[name][0, 0], moved[name][1, 1] = point.values[name][0, 0], point.values[name][1, 1]
    assert all(np.array_equal(moved[key], value) for key, value in point.values.items())


def test_random_directions_are_as_large_as_the_filters() -> None:
    point = moons().points()[-1]
    plane = through_random(point, seed=3)
    for direction in (plane.first, plane.second):
        start = 0
        for value in point.values.values():
            part = direction[start : start + value.size].reshape(value.shape)
            start += value.size
            if value.ndim > 1:
                assert np.allclose(
                    np.linalg.norm(part.reshape(len(part), -1), axis=1),
                    np.linalg.norm(value.reshape(len(value), -1), axis=1),
                )
            else:
                assert np.linalg.norm(part) == pytest.approx(np.linalg.norm(value.astype(float)))
    assert plane.labels == ("1st random direction", "2nd random direction")
    again, other = through_random(point, seed=3), through_random(point, seed=4)
    assert np.array_equal(again.first, plane.first)
    assert not np.allclose(other.first, plane.first)


def test_random_directions_from_zeros() -> None:
    problem = ProgramProblem(
        "import torch\nw = torch.zeros(4, 3, requires_grad=True)", "((w - 1) ** 2).sum()"
    )
    plane = through_random(TrainingSession(problem, lr=0.1).points()[-1])
    assert plane.labels == ("random direction", "random direction")
    assert plane.first @ plane.second == pytest.approx(0, abs=1e-12)


def test_the_plane_of_a_gradient_holds_gradient_and_update() -> None:
    session = moons()
    point, ahead = session.points()[-1], session.look_ahead(steps=1, seconds=60)
    plane = through_gradient(point, ahead.gradient, ahead.update)
    assert plane.labels == ("against the gradient", "the update's other part")
    along, across = plane.arrow(ahead.gradient, point)
    size = np.sqrt(sum((g.astype(float) ** 2).sum() for g in ahead.gradient.values()))
    assert (along, across) == (pytest.approx(-size, rel=1e-6), pytest.approx(0, abs=1e-9))
    length = np.sqrt(sum((u.astype(float) ** 2).sum() for u in ahead.update.values()))
    assert np.linalg.norm(plane.arrow(ahead.update, point)) == pytest.approx(length, rel=1e-6)
    plain = TrainingSession(planar("moons"), lr=0.1)
    ahead = plain.look_ahead(steps=1, seconds=60)
    plane = through_gradient(plain.points()[-1], ahead.gradient, ahead.update)
    assert plane.labels == ("against the gradient", "random direction")


def test_explanations() -> None:
    point = TrainingSession(PRESETS["rosenbrock"], lr=1e-3).points()[-1]
    both = through_elements(point, ("x", ()), ("y", ()))
    assert both.explanation == "The loss depends on x and y alone."
    assert through_element(point, ("x", ())).explanation == ("Only x changes.")


def test_the_surface_in_a_plane_is_the_loss_at_its_points() -> None:
    problem = ProgramProblem(
        "import torch\nw = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)\n"
        "b = torch.full((2,), 0.5, requires_grad=True)",
        "loss = (w.sum(0) * b).sin().sum() + torch.rand(())",
    )
    session = TrainingSession(problem, lr=0.1)
    session.iterate(3)
    points = session.points()
    plane = through_random(points[-1])
    surface = loss_surface(problem, plane, points, size=5)
    for row in (0, 4):
        for column in (1, 3):
            values = plane.point((surface.x[column], surface.y[row]), points[-1])
            moved = session.look_ahead(steps=1, seconds=60, start=values)
            assert moved.losses[0] == pytest.approx(surface.loss[row, column], rel=1e-6)
