"""Surfaces that readers share: the same numbers as afresh, and never those of another setting."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from explorer.networks import constant_init, planar
from explorer.training import ProgramProblem, TrainingSession, loss_surface
from explorer.ui.optimizer import surface
from explorer.ui.optimizer.problems import OFFERS, OWN, ChosenProblem
from explorer.ui.optimizer.session import Workspace

pytestmark = pytest.mark.fast

W = (("w", 0), ("w", 1))
B = (("w", 0), ("b", 0))
#: Problem, variant, optimizer, settings, seed, pair, presses. No two are the same.
SETTINGS: list[tuple[str, str, str, dict[str, Any], int, Any, int]] = [
    ("linear regression", "", "SGD", {"lr": 0.1}, 0, W, 3),
    ("linear regression", "", "SGD", {"lr": 0.1}, 0, W, 4),
    ("linear regression", "", "SGD", {"lr": 0.1}, 0, B, 3),
    ("linear regression", "", "SGD", {"lr": 0.1}, 0, None, 3),
    ("linear regression", "", "SGD", {"lr": 0.1}, 1, W, 3),
    ("linear regression", "", "SGD", {"lr": 0.100001}, 0, W, 3),
    ("linear regression", "", "SGD", {"lr": 0.1, "momentum": 0.5}, 0, W, 3),
    ("linear regression", "", "Adam", {"lr": 0.1}, 0, W, 3),
    ("planar", "moons", "SGD", {"lr": 0.1}, 0, None, 3),
    ("planar", "xor", "SGD", {"lr": 0.1}, 0, None, 3),
    ("tenths", "today", "SGD", {"lr": 1.0}, 0, None, 1),
    ("tenths", "float64", "SGD", {"lr": 1.0}, 0, None, 1),
]


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pictures of few places, so that many can be compared; nothing kept before."""
    monkeypatch.setattr("explorer.training.session.SURFACE_SECONDS", 1e-9)
    surface._share.clear()
    yield
    surface._share.clear()


def opened(
    key: str, variant: str, optimizer: str, hyper: dict[str, Any], seed: int, presses: int
) -> Workspace:
    """A reader's workspace after some iterations."""
    makes: dict[str, Any] = {
        "planar": lambda: planar.planar(variant, depth=1, width=2),
        "tenths": lambda: constant_init.variants()[variant],
    }
    problem = makes.get(key, OFFERS[key].make)()
    session = TrainingSession(problem, optimizer, seed=seed, **hyper)
    session.iterate(presses)
    chosen = ChosenProblem(key, OFFERS[key], problem, f"{key}\0{problem.name}\0{problem.source}")
    return Workspace(chosen, optimizer, session, session.view())


def drawn(space: Workspace, pair: Any) -> surface.DrawnSurface:
    return surface.compute_surface(space, pair, space.points())


def test_everybody_gets_the_surface_of_their_own_setting() -> None:
    found = {}
    for number, (*setting, pair, presses) in enumerate(SETTINGS):
        first = found[number] = drawn(opened(*setting, presses), pair)
        space = opened(*setting, presses)
        second = drawn(space, pair)
        assert second.surface is first.surface
        assert second.image is first.image
        points = space.points()
        around = [*points, *surface._corners(first.plane, points[0])]
        afresh = loss_surface(
            space.chosen.problem,
            first.plane,
            around if first.plane.exact else points,
            seed=space.session.seed,
            size=len(first.surface.x),
        )
        for name in ("x", "y", "loss", "path"):
            assert np.array_equal(getattr(first.surface, name), getattr(afresh, name)), setting
        assert first.surface.labels == afresh.labels
        assert first.image == surface._draw_contours(afresh)
    for a, b in combinations(found, 2):
        assert found[a].surface is not found[b].surface, (SETTINGS[a], SETTINGS[b])


def test_each_part_alone_makes_another_name() -> None:
    """Where two settings differ in one thing only, such as the data of the same network."""
    space = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 0, 3)
    plane = surface._plane((("a", 0), ("b", 0)), space.points())
    path = plane.place(space.points())
    other = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 1, 3)
    named = replace(space, chosen=replace(space.chosen, name="another"))
    names = {surface._cache_key(s, plane, path) for s in (space, other, named)}
    for part in ("origin", "first", "second"):
        moved = replace(plane, **{part: getattr(plane, part) + 1e-9})
        names.add(surface._cache_key(space, moved, path))
    names.add(surface._cache_key(space, replace(plane, labels=("b", "a")), path))
    names.add(surface._cache_key(space, replace(plane, exact=False), path))
    names.add(surface._cache_key(space, plane, path + 1e-9))
    names.add(surface._cache_key(space, plane, path[:2]))
    assert len(names) == 10


def test_two_readers_at_once_compute_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    really, made = surface._compute, []
    both = threading.Barrier(2)

    def slow(*args: Any) -> Any:
        made.append(threading.current_thread())
        threading.Event().wait(0.3)
        return really(*args)

    monkeypatch.setattr(surface, "_compute", slow)
    found: list[surface.DrawnSurface] = []

    def reader() -> None:
        space = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 0, 3)
        both.wait(20)
        found.append(drawn(space, (("a", 0), ("b", 0))))

    threads = [threading.Thread(target=reader) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(made) == 1
    assert found[0].surface is found[1].surface


def test_a_shared_surface_cannot_be_written_to() -> None:
    found = drawn(
        opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 0, 3), (("a", 0), ("b", 0))
    ).surface
    for array in (found.x, found.y, found.loss, found.path):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_a_readers_own_program_is_not_shared() -> None:
    problem = ProgramProblem(
        setup="import torch\na = torch.ones(2, requires_grad=True)", loss="(a**2).sum()"
    )
    found = []
    for _ in range(2):
        session = TrainingSession(problem, lr=0.1)
        session.iterate(2)
        chosen = ChosenProblem(OWN, OFFERS[OWN], problem, "same")
        space = Workspace(chosen, "SGD", session, session.view())
        found.append(drawn(space, (("a", 0), ("a", 1))))
    assert found[0].surface is not found[1].surface
    assert np.array_equal(found[0].surface.loss, found[1].surface.loss)
