"""What follows the hand: frames of numbers, of which nothing is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from explorer.training import TrainingSession
from explorer.ui.optimizer import live, surface
from explorer.ui.optimizer.planes import ELEMENTS, PlaneChoice
from tests.ui.optimizer.test_surface import AB, drawn, opened, own_run

pytestmark = pytest.mark.fast

QUADRATIC = ("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 0)


def shown(presses: int = 3, *setting: Any, choice: PlaneChoice = AB) -> Any:
    """A workspace of which the surface has been drawn."""
    space = opened(*(setting or QUADRATIC), presses)
    drawn(space, choice)
    space.cache["surface.runs"] = (own_run(space),)
    return space


def plain_path(a: float, b: float, lr: float, steps: int) -> list[list[float]]:
    """The same with plain PyTorch."""
    p = [torch.tensor(v, requires_grad=True) for v in (a, b)]
    optimizer = torch.optim.SGD(p, lr=lr)
    path = [[a, b]]
    for _ in range(steps):
        optimizer.zero_grad()
        (0.1 * p[0] ** 2 + 2 * p[1] ** 2).backward()
        optimizer.step()
        path.append([v.item() for v in p])
    return path


def test_the_point_under_the_hand_has_its_gradient_and_its_path() -> None:
    space = shown()
    before = space.points()
    event = {"target": {"point": ["a", "b"]}, "value": [-3.0, 1.0], "phase": "move"}
    numbers, note = live.answer(space, event)
    assert note == ""
    frame = numbers["surface"]
    assert frame["at"] == [-3.0, 1.0]
    assert frame["loss"] == pytest.approx(0.1 * 9 + 2)
    assert frame["arrows"]["gradient"] == pytest.approx([-0.6, 4.0], rel=1e-5)
    assert frame["arrows"]["update"] == pytest.approx([0.24, -1.6], rel=1e-5)
    assert numbers["parameters"]["b"] == {"value": [1.0], "grad": [4.0]}
    path = np.array(frame["runs"][0]).T
    assert np.allclose(path[:4], plain_path(-3.0, 1.0, 0.4, 3), atol=0.01)
    assert numbers["sliders"]["critical"] == pytest.approx(0.5, rel=1e-3)
    assert numbers["sliders"]["regime"] == "converges, oscillating"
    after = space.points()
    assert [p.values for p in after] == [p.values for p in before]


@pytest.mark.parametrize(
    "settings", [{"lr": lr} for lr in (0.9, 1.0, 1.001, 1.01)] + [{"lr": 3.8, "momentum": 0.9}]
)
def test_the_path_ahead_has_every_step(settings: dict[str, float]) -> None:
    """Where the steps can be told apart; a path that jumps across the minimum still does."""
    choice = PlaneChoice(ELEMENTS, ("x", 0), ("x", 0))
    space = shown(0, "parabola", "", "SGD", settings, 0, choice=choice)
    event = {"target": {"ahead": space.version}, "value": None, "phase": "move"}
    numbers, _ = live.answer(space, event)
    path = numbers["surface"]["runs"][0][0]
    x, plain = torch.tensor(10.0, requires_grad=True), []
    optimizer = torch.optim.SGD([x], **settings)
    for _ in path:
        plain.append(x.item())
        optimizer.zero_grad()
        (x**2).backward()
        optimizer.step()
    assert path == pytest.approx(plain, rel=1e-4, abs=0.02)


def test_a_setting_under_the_hand_goes_on_from_here() -> None:
    space = shown()
    a, b = (space.points()[-1].values[name].item() for name in "ab")
    event = {"target": {"setting": "lr"}, "value": 0.1, "phase": "move"}
    numbers, _ = live.answer(space, event)
    path = np.array(numbers["surface"]["runs"][0]).T
    assert np.allclose(path[:6], plain_path(a, b, 0.1, 5), atol=0.01)
    assert "at" not in numbers["surface"]
    assert numbers["sliders"]["regime"] == "converges"
    assert space.hyper["lr"] == 0.4
    event["value"] = 0.6
    assert live.answer(space, event)[0]["sliders"]["regime"] == "diverges"


def test_at_rest_the_version_is_that_of_the_picture() -> None:
    space = shown()
    event = {"target": {"ahead": 1}, "value": None, "phase": "move"}
    numbers, _ = live.answer(space, event)
    assert numbers["surface"]["version"] == space.version
    assert not numbers["surface"]["live"]
    assert numbers["parameters"] == {}


def test_no_two_states_have_the_same_version() -> None:
    """The browser asks for what lies ahead when it sees a new one."""
    first, second = shown(0), opened("saddle", "", "SGD", {"lr": 0.1}, 0, 0)
    assert first.version != second.version
    before = first.version
    first.press(TrainingSession.forward)
    first.perform()
    assert first.version not in (before, second.version)
    event = {"target": {"ahead": first.version}, "value": None, "phase": "move"}
    assert live.answer(first, event)[0]["sliders"]["version"] == first.version


def test_a_run_that_has_ended_says_how() -> None:
    space = opened("rosenbrock", "", "SGD", {"lr": 0.01}, 0, 0)
    drawn(space, PlaneChoice(ELEMENTS, ("x", 0), ("y", 0)))
    space.press_run(200)
    while space.queue or space.run is not None:
        space.perform()
    space.cache["surface.runs"] = (own_run(space),)
    event: Any = {"target": {"ahead": space.version}, "value": None, "phase": "move"}
    told = live.answer(space, event)[0]["sliders"]
    assert told["regime"] == "diverges"
    assert told["sentence"] == space.view.track.trouble == "The loss became inf after step 5."


def test_another_run_has_a_path_of_its_own() -> None:
    space = shown()
    second = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.1}, 0, 3)
    space.cache["surface.runs"] += (
        surface.Run("slow", second.view, second.points(), second.session),
    )
    event = {"target": {"point": ["a", "b"]}, "value": [1.0, 1.0], "phase": "move"}
    first, other = live.answer(space, event)[0]["surface"]["runs"]
    assert np.allclose(np.array(first).T[:4], plain_path(1.0, 1.0, 0.4, 3), atol=0.01)
    assert np.allclose(np.array(other).T[:4], plain_path(1.0, 1.0, 0.1, 3), atol=0.01)


def test_a_frame_is_small() -> None:
    space = shown(
        0,
        "rosenbrock",
        "",
        "SGD",
        {"lr": 0.001},
        0,
        choice=PlaneChoice(ELEMENTS, ("x", 0), ("y", 0)),
    )
    event = {"target": {"point": ["x", "y"]}, "value": [-1.0, 2.0], "phase": "move"}
    assert len(repr(live.answer(space, event)[0])) < 6_000


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"target": None, "value": 1, "phase": "move"},
        {"target": {"setting": "lr"}, "value": "0.1", "phase": "move"},
        {"target": {"setting": "lr"}, "value": float("nan"), "phase": "move"},
        {"target": {"setting": "lr"}, "value": -1.0, "phase": "move"},
        {"target": {"setting": ["lr"]}, "value": 0.1, "phase": "move"},
        {"target": {"point": ["a", "b"]}, "value": [1.0], "phase": "move"},
        {"target": {"point": ["a", "b"]}, "value": None, "phase": "move"},
    ],
)
def test_what_is_no_frame_is_refused(event: Any) -> None:
    with pytest.raises((ValueError, TypeError, LookupError)):
        live.answer(shown(), event)


def test_an_unknown_setting_changes_nothing() -> None:
    event = {"target": {"setting": "warmth"}, "value": 0.1, "phase": "move"}
    assert live.answer(shown(), event)[0]["sliders"]["regime"] == "converges, oscillating"
