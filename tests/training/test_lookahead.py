"""The path ahead against a session that really goes there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from explorer.networks.planar import planar
from explorer.program import ProgramRefused
from explorer.training import (
    PRESETS,
    Ahead,
    Point,
    Problem,
    ProgramProblem,
    TrainingSession,
    through_elements,
    through_path,
)
from explorer.training.optimizers import optimizer_spec
from tests.marks import sample
from tests.training.plain import SETTINGS, suited

NOISY = ProgramProblem(
    "import torch\nw = torch.ones(3, requires_grad=True)\nseen = torch.zeros(1)",
    "seen += 1\nloss = ((w - torch.randn(3)) ** 2).sum() * seen",
)
CHECKED: dict[str, Problem] = {**PRESETS, "noisy": NOISY, "moons": planar("moons")}


def joined(point: Point) -> np.ndarray:
    return np.concatenate([value.ravel() for value in point.values.values()]).astype(np.float64)


def assert_is_what_happens(ahead: Ahead, session: TrainingSession, zero_grad: bool = True) -> None:
    """The path is that of as many real iterations, to the last bit."""
    start = len(session.losses)
    rows = [joined(session.points()[-1])]
    before = session.parameters
    for step in range(len(ahead.losses)):
        assert session.iterate(1, zero_grad=zero_grad).ok
        rows.append(joined(session.points()[-1]))
        if step == 0:
            now = session.parameters
            grads = {n: p.grad for n, p in now.items() if p.grad is not None}
            last = optimizer_spec(session.optimizer).evaluates  # .grad is that of its last forward
            assert last or grads.keys() == ahead.gradient.keys()
            for name, grad in ahead.gradient.items() if not last else ():
                assert_array_equal(grad, grads[name])
            for name, update in ahead.update.items():
                assert_array_equal(update, now[name].value - before[name].value)
    assert_array_equal(ahead.path, np.stack(rows))
    assert_array_equal(ahead.losses, session.losses[start:])


@pytest.mark.parametrize("name", sample(CHECKED, every=4))
@pytest.mark.parametrize(("optimizer", "hyper"), SETTINGS)
def test_it_is_what_happens(name: str, optimizer: str, hyper: dict[str, Any]) -> None:
    session = TrainingSession(suited(optimizer, CHECKED[name]), optimizer, seed=1, **hyper)
    session.iterate(3)
    before = repr(session.view())
    ahead = session.look_ahead(steps=20, seconds=60)
    assert repr(session.view()) == before
    assert len(ahead.losses) == 20 or ahead.trouble
    assert_is_what_happens(ahead, session)


def test_with_other_settings() -> None:
    session = TrainingSession(PRESETS["rosenbrock"], "SGD", lr=1e-4, momentum=0.5)
    session.iterate(5)
    ahead = session.look_ahead(steps=30, seconds=60, lr=2e-4, momentum=0.9)
    session.set(lr=2e-4, momentum=0.9)
    assert_is_what_happens(ahead, session)


@pytest.mark.parametrize(
    "scheduler",
    [
        {"name": "StepLR", "step_size": 4, "gamma": 0.5},
        {"name": "ReduceLROnPlateau", "patience": 0},
        {"name": "OneCycleLR", "max_lr": 0.3, "total_steps": 50},
    ],
)
def test_with_a_scheduler_and_clipping(scheduler: dict[str, Any]) -> None:
    clip = {"name": "clip_grad_norm_", "max_norm": 0.8}
    session = TrainingSession(
        PRESETS["linear regression"], lr=0.5, momentum=0.9, scheduler=scheduler, clip=clip
    )
    session.iterate(5)
    assert_is_what_happens(session.look_ahead(steps=30, seconds=60), session)
    ahead = session.look_ahead(steps=30, seconds=60)
    assert len(ahead.losses) == (15 if scheduler["name"] == "OneCycleLR" else 30)
    assert ("cannot go on" in ahead.trouble) == (scheduler["name"] == "OneCycleLR")
    ahead = session.look_ahead(steps=10, seconds=60, start={"b": [2.0]})
    session.move({"b": [2.0]})
    assert_is_what_happens(ahead, session)


#: What a reader may have done before.
BEFORE = st.lists(
    st.sampled_from(["iterate", "zero_grad", "forward", "backward", "step", "undo", "move", "set"]),
    max_size=8,
)
SCHEDULED: list[dict[str, Any] | None] = [
    None,
    {"name": "StepLR", "step_size": 2, "gamma": 0.5},
    {"name": "ReduceLROnPlateau", "patience": 1},
]
CLIPPED: list[dict[str, Any] | None] = [None, {"name": "clip_grad_norm_", "max_norm": 0.5}]


@example(["iterate"] * 7, "SGD", None, None, True, None, {})  # until a parameter is NaN
@example([], "LBFGS", SCHEDULED[-1], CLIPPED[-1], False, 0.25, {})  # several losses in a step
@settings(max_examples=25, deadline=None)
@given(
    BEFORE,
    st.sampled_from(["SGD", "Adam", "LBFGS"]),
    st.sampled_from(SCHEDULED),
    st.sampled_from(CLIPPED),
    st.booleans(),
    st.sampled_from([None, 0.25, -2.0]),
    st.sampled_from([{}, {"lr": 0.03}]),
)
def test_after_anything_and_with_anything(
    presses: list[str],
    optimizer: str,
    scheduler: dict[str, Any] | None,
    clip: dict[str, Any] | None,
    zero_grad: bool,
    start: float | None,
    changed: dict[str, float],
) -> None:
    session = TrainingSession(
        PRESETS["rosenbrock"], optimizer, lr=0.01, scheduler=scheduler, clip=clip
    )
    arguments: dict[str, Any] = {"move": {"values": {"x": 0.5}}, "set": {"lr": 0.02}}
    for press in presses:  # what cannot be done changes nothing
        getattr(session, press)(**arguments.get(press, {}))
    values = None if start is None else {"y": start}
    begin = {name: p.value for name, p in session.parameters.items()} | (values or {})
    if not all(np.isfinite(value).all() for value in begin.values()):
        with pytest.raises(ProgramRefused, match="infinite or NaN"):
            session.look_ahead(start=values)
        return
    ahead = session.look_ahead(steps=6, seconds=60, start=values, zero_grad=zero_grad, **changed)
    if changed:
        session.set(**changed)
    if values is not None:
        session.move(values)
    assert_is_what_happens(ahead, session, zero_grad)


@pytest.mark.parametrize("name", ["ill-conditioned quadratic", "linear regression"])
def test_from_another_start(name: str) -> None:
    session = TrainingSession(PRESETS[name], "Adam", lr=0.1, seed=2)
    session.iterate(5)
    first, value = next(iter(session.parameters.items()))
    start = {first: np.full_like(value.value, 3.5)}
    ahead = session.look_ahead(steps=30, seconds=60, start=start, lr=0.2)
    session.set(lr=0.2)
    session.move(start)
    assert_is_what_happens(ahead, session)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_without_zero_grad(momentum: float) -> None:
    session = TrainingSession(PRESETS["parabola"], lr=0.01, momentum=momentum)
    session.iterate(2)
    session.forward()
    session.backward()
    ahead = session.look_ahead(steps=15, seconds=60, zero_grad=False)
    assert_is_what_happens(ahead, session, zero_grad=False)


def test_it_ends_before_numbers_that_are_not_finite() -> None:
    session = TrainingSession(PRESETS["parabola"], lr=1.5)
    ahead = session.look_ahead(steps=400, seconds=60)
    # x is multiplied by -2: float32 holds (10 · 2^k)² as long as k < 61
    assert len(ahead.losses) == 61
    assert ahead.trouble == "The loss becomes inf after 61 steps."
    assert not ahead.is_finished
    assert np.isfinite(ahead.path).all()
    assert_is_what_happens(ahead, session)


def test_the_time_ends_it() -> None:
    session = TrainingSession(PRESETS["parabola"], lr=0.1)
    ahead = session.look_ahead(steps=10**6, seconds=0.01)
    assert 1 <= len(ahead.losses) < 1000
    assert not ahead.is_finished
    assert ahead.trouble == ""


def test_a_path_is_projected_as_points_are() -> None:
    session = TrainingSession(planar("moons"), "Adam", lr=0.01)
    session.iterate(10)
    point = session.points()[-1]
    name = next(iter(point.values))
    planes = (
        through_elements(point, (name, (0, 0)), (name, (1, 1))),
        through_path(session.points()),
    )
    for plane in planes:
        ahead = session.look_ahead(plane, steps=5, seconds=60)
        session.iterate(5)
        assert np.allclose(ahead.path, plane.place(session.points()[-6:]), atol=1e-12)
        for arrow in (ahead.arrows["update"], plane.arrow(ahead.update, point)):
            assert np.allclose(arrow, ahead.path[1] - ahead.path[0], atol=1e-6)
        session.undo()


def test_a_loss_that_fails_on_the_way() -> None:
    problem = ProgramProblem(
        "import torch\nx = torch.tensor(1.0, requires_grad=True)",
        "if x < 0:\n    raise ValueError('below')\nloss = x * 1",
    )
    ahead = TrainingSession(problem, lr=0.25).look_ahead(seconds=60)
    assert ahead.path.ravel().tolist() == [1.0, 0.75, 0.5, 0.25, 0.0, -0.25]
    assert "below" in ahead.trouble


def test_a_state_that_cannot_be_copied() -> None:
    problem = ProgramProblem(
        "import torch\nw = torch.ones(2, requires_grad=True)\nnumbers = iter(range(1000))",
        "loss = (w**2).sum() * next(numbers)",
    )
    session = TrainingSession(problem, lr=0.001, momentum=0.9)
    session.iterate(4)
    ahead = session.look_ahead(steps=20, seconds=60)
    assert_is_what_happens(ahead, session)


def test_settings_are_checked() -> None:
    session = TrainingSession(PRESETS["parabola"], lr=0.1)
    with pytest.raises(ValueError, match="momentun"):
        session.look_ahead(momentun=0.9)
    with pytest.raises(ProgramRefused, match="fit"):
        session.look_ahead(start={"z": 1.0})
