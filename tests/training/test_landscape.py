"""Surfaces and paths against losses computed by hand."""

import numpy as np
import pytest

from explorer.networks.planar import planar
from explorer.training import (
    PRESETS,
    ProgramProblem,
    TrainingSession,
    loss_surface,
    through_element,
    through_elements,
    through_path,
)
from explorer.training.landscape import COARSEST

pytestmark = pytest.mark.fast


def test_rosenbrock_is_the_formula():
    session = TrainingSession(PRESETS["rosenbrock"], lr=1e-3)
    session.iterate(20)
    before = session.view()
    points = session.points()
    plane = through_elements(points[-1], ("x", ()), ("y", ()))
    found = loss_surface(session.problem, plane, points)
    x, y = np.meshgrid(found.x, found.y)
    assert found.loss.shape == (41, 41)
    assert np.allclose(found.loss, (1 - x) ** 2 + 100 * (y - x**2) ** 2, rtol=1e-4, atol=1e-4)
    assert found.labels == ("x", "y")
    assert found.exact
    path = [[float(p.values["x"]), float(p.values["y"])] for p in points]
    assert np.array_equal(found.path, path)
    assert found.x[0] < found.path[:, 0].min() <= found.path[:, 0].max() < found.x[-1]
    assert repr(session.view()) == repr(before)


def test_two_elements_of_a_matrix_leave_the_others():
    session = TrainingSession(PRESETS["linear regression"], lr=0.1, seed=5)
    session.iterate(10)
    points = session.points()
    found = loss_surface(
        session.problem,
        through_elements(points[-1], ("w", (0, 0)), ("w", (1, 0))),
        points,
        seed=5,
        size=5,
    )
    live = session.problem.build(5)
    live.parameters["b"].data.fill_(float(points[-1].values["b"][0]))
    live.parameters["w"].data[0, 0] = found.x[1]
    live.parameters["w"].data[1, 0] = found.y[3]
    assert found.loss[3, 1] == pytest.approx(live.loss().item(), rel=1e-6)
    assert found.labels == ("w[0, 0]", "w[1, 0]")


def test_principal_directions_hold_the_path():
    session = TrainingSession(planar("moons"), "Adam", lr=0.01)
    session.iterate(30)
    points = session.points()
    plane = through_path(points)
    assert not plane.exact
    assert plane.first @ plane.first == pytest.approx(1)
    assert plane.first @ plane.second == pytest.approx(0, abs=1e-9)
    found = loss_surface(session.problem, plane, points, size=3, margin=0)
    assert np.allclose(found.path[-1], 0)
    rows = np.stack([np.concatenate([v.ravel() for v in p.values.values()]) for p in points])
    moved = rows - rows[-1]
    left_out = moved - found.path @ np.stack([plane.first, plane.second])
    assert np.linalg.norm(left_out) < 0.2 * np.linalg.norm(moved)


def test_without_a_path_the_directions_are_random_and_said_so():
    session = TrainingSession(planar("xor"), lr=0.1)
    plane = through_path(session.points())
    assert plane.labels == ("random direction", "random direction")
    assert plane.first @ plane.second == pytest.approx(0, abs=1e-9)
    one = TrainingSession(PRESETS["parabola"], lr=0.1)
    one.iterate(3)
    found = loss_surface(one.problem, through_path(one.points()), one.points(), size=3)
    assert np.isfinite(found.loss).all()


def test_places_where_the_loss_fails_are_nan():
    problem = ProgramProblem(
        setup="import torch\na = torch.tensor(1.0, requires_grad=True)\n"
        "b = torch.tensor(1.0, requires_grad=True)",
        loss="assert a < 1.01\nloss = a * b + 0 * torch.rand(())",
    )
    session = TrainingSession(problem, lr=0.1)
    plane = through_elements(session.points()[0], ("a", ()), ("b", ()))
    found = loss_surface(problem, plane, session.points(), size=5)
    a, b = np.meshgrid(found.x, found.y)
    assert np.isnan(found.loss).any()
    assert np.array_equal(np.isnan(found.loss), a >= 1.01)
    assert np.allclose(found.loss[a < 1.01], (a * b)[a < 1.01])


def test_the_line_of_one_parameter():
    session = TrainingSession(PRESETS["parabola"], lr=0.2)
    session.iterate(3)
    found = session.surface(through_element(session.points()[-1], ("x", ())))
    assert found.y.shape == (1,)
    assert found.loss[0] == pytest.approx(found.x**2)
    assert found.path[:, 0] == pytest.approx([10, 6, 3.6, 2.16])


def test_a_surface_with_little_time_is_coarse_but_right():
    problem = PRESETS["ill-conditioned quadratic"]
    points = TrainingSession(problem, lr=0.1).points()
    plane = through_elements(points[-1], ("a", ()), ("b", ()))
    found = loss_surface(problem, plane, points, seconds=1e-6)
    assert found.loss.shape == (COARSEST, COARSEST)
    a, b = np.meshgrid(found.x, found.y)
    assert found.loss == pytest.approx(0.1 * a**2 + 2 * b**2, rel=1e-5)
