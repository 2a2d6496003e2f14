"""A run beside another, presses joined, and surfaces that stay affordable."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.training import (
    PRESETS,
    TrainingSession,
    follow_with_setting,
    follow_without_zero_grad,
    through_element,
    through_elements,
    with_setting,
    without_zero_grad,
)
from explorer.training.landscape import COARSEST, loss_surface

pytestmark = pytest.mark.fast


def value(session: TrainingSession) -> np.ndarray:
    return session.parameters["x"].value


@pytest.mark.parametrize(
    ("follower", "afresh"),
    [
        (follow_without_zero_grad(), without_zero_grad),
        (follow_with_setting(lr=0.05), lambda session: with_setting(session, lr=0.05)),
    ],
)
def test_following_is_doing_it_all_afresh(follower, afresh):
    session = TrainingSession(PRESETS["parabola"], lr=0.2)
    presses = ("forward", "backward", "step", "iterate", "undo", "zero_grad", "iterate", "iterate")
    for press in presses:
        getattr(session, press)()
        assert value(follower.follow(session)) == value(afresh(session))
    session.reset()
    assert value(follower.follow(session)) == 10


def test_joined_presses_are_undone_at_once_and_done_again():
    session = TrainingSession(PRESETS["parabola"], lr=0.2)
    session.forward()
    for _ in range(3):
        session.iterate(4)
    session.join(1)
    there = value(session)
    assert session.undo().ok
    assert (session.view().undoable, value(session)) == (1, 10)
    assert session.redo().ok
    assert value(session) == there


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


def test_the_tensors_a_setup_leaves():
    problem = PRESETS["linear regression"]
    found = problem.tensors(3)
    assert {name: a.shape for name, a in found.items()} == {
        "X": (1000, 2),
        "y": (1000,),
        "w": (2, 1),
        "b": (1,),
    }
    parameters = TrainingSession(problem, seed=3).parameters
    assert np.array_equal(found["w"], parameters["w"].value)
