"""The path ahead of a reader's own problem: the same as here, and answers that are wrong."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from explorer.program import ProgramRefused
from explorer.training import (
    PRESETS,
    Ahead,
    Child,
    Plane,
    ProgramProblem,
    TrainingSession,
    through_elements,
)
from explorer.training.replay import replay_ahead
from explorer.training.stability import find_stability
from tests.training.plain import ask

pytestmark = pytest.mark.fast
PROBLEM = ProgramProblem("import torch\nw = torch.ones(2, requires_grad=True)", "(w**2).sum()")
RANDOM = ProgramProblem(
    "import torch\nw = torch.ones(3, requires_grad=True)\nnumbers = iter(range(1, 1000))",
    "loss = ((w - torch.randn(3)) ** 2).sum() / next(numbers)",
)


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def ask_ahead(request: Any) -> Any:
    return through_json(replay_ahead(through_json(request)))


def same(first: Ahead, second: Ahead) -> bool:
    numbers = [repr({**vars(ahead), "hyper": None}) for ahead in (first, second)]
    return numbers[0] == numbers[1] and first.hyper == second.hyper


@pytest.mark.parametrize("problem", [PROBLEM, RANDOM, PRESETS["linear regression"]])
@pytest.mark.parametrize(
    ("optimizer", "settings"),
    [("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {"lr": 0.2, "betas": (0.8, 0.9)})],
)
def test_it_is_the_same_as_here(
    problem: ProgramProblem, optimizer: str, settings: dict[str, Any]
) -> None:
    here = TrainingSession(problem, optimizer, seed=4, **settings)
    there = TrainingSession(problem, optimizer, seed=4, where=Child(ask, ask_ahead), **settings)
    for session in (here, there):
        session.iterate(5)
        session.forward()
        session.backward()
    before = repr(there.view())
    options: list[dict[str, Any]] = [
        {},
        {"lr": 0.3},
        {"zero_grad": False},
        {"start": {"w": np.full_like(there.parameters["w"].value, 0.5)}},
    ]
    for option in options:
        arguments = {"steps": 20, "seconds": 60, "curvature": 60.0, **option}
        assert same(there.look_ahead(**arguments), here.look_ahead(**arguments))
    assert repr(there.view()) == before


def test_in_a_plane() -> None:
    session = TrainingSession(PROBLEM, lr=0.1, where=Child(ask, ask_ahead))
    session.iterate(2)
    point = session.points()[-1]
    ahead = session.look_ahead(through_elements(point, ("w", (0,)), ("w", (1,))), steps=4)
    assert ahead.path.shape == (5, 2)
    assert np.allclose(ahead.arrows["gradient"], 2 * point.values["w"])
    assert np.allclose(ahead.arrows["update"], -0.2 * point.values["w"])
    assert find_stability(ahead).critical is None
    assert find_stability(session.look_ahead(curvature=1.0)).critical == pytest.approx(1.0)


def test_without_a_child_for_it() -> None:
    with pytest.raises(ProgramRefused, match="cannot look ahead"):
        TrainingSession(PROBLEM, lr=0.1, where=Child(ask)).look_ahead()


def array(*numbers: float, shape: list[int] | None = None, dtype: str = "<f8") -> dict[str, Any]:
    data = base64.b64encode(np.array(numbers, dtype=dtype).tobytes()).decode()
    return {"$": "array", "dtype": dtype, "shape": shape or [len(numbers)], "data": data}


def change(**fields: Any) -> Callable[[dict[str, Any]], object]:
    return lambda answer: answer.update(fields)


def curvature(**fields: Any) -> Callable[[dict[str, Any]], object]:
    return lambda answer: answer["curvature"].update(fields)


NAN = float("nan")
FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "another type": change(**{"$": "Plane"}),
    "no path": change(path=None),
    "a path that is too short": change(path=array(1.0, 2.0, shape=[1, 2])),
    "a path of other numbers": change(path=array(*[1.0] * 12, shape=[4, 3])),
    "a path that is not finite": change(path=array(*[NAN] * 8, shape=[4, 2])),
    "a path of text": change(path=["a"] * 4),
    "a path of integers": change(path=array(*[1] * 8, shape=[4, 2], dtype="<i8")),
    "losses that are not finite": change(losses=array(1.0, NAN, 2.0)),
    "losses in rows": change(losses=array(1.0, 2.0, 3.0, shape=[3, 1])),
    "more steps than asked for": change(
        losses=array(*[1.0] * 9), path=array(*[1.0] * 20, shape=[10, 2])
    ),
    "a gradient of another shape": change(gradient={"w": array(1.0)}),
    "a gradient that is not finite": change(gradient={"w": array(1.0, NAN)}),
    "an update of integers": change(update={"w": array(1, 2, dtype="<i8")}),
    "a gradient of what does not exist": change(gradient={"v": array(1.0, 2.0)}),
    "an arrow with a name of its own": change(arrows={"<b>": array(1.0, 2.0)}),
    "an arrow of three numbers": change(arrows={"update": array(1.0, 2.0, 3.0)}),
    "trouble without an end": change(trouble="x" * 10**6),
    "no eigenvalues": curvature(eigenvalues=array(shape=[0])),
    "eigenvalues out of order": curvature(eigenvalues=array(2.0, 1.0)),
    "eigenvalues that are not finite": curvature(eigenvalues=array(1.0, NAN)),
    "too many eigenvalues": curvature(eigenvalues=array(*range(11)), gradient=array(*range(11))),
    "components for nothing": curvature(gradient=array(1.0)),
    "constant and not whole": curvature(is_whole=False),
}


def answered(forge: Callable[[dict[str, Any]], object], plane: Plane | None = None) -> Ahead:
    def forged(request: Any) -> Any:
        plain = ask_ahead(request)
        forge(plain)
        return plain

    session = TrainingSession(PROBLEM, lr=0.1, where=Child(ask, forged))
    return session.look_ahead(plane, steps=3, seconds=60, curvature=1.0)


@pytest.mark.parametrize("name", FORGED)
def test_a_wrong_answer_is_refused(name: str) -> None:
    point = TrainingSession(PROBLEM, lr=0.1).points()[-1]
    plane = through_elements(point, ("w", (0,)), ("w", (1,)))
    assert len(answered(lambda answer: None, plane).losses) == 3
    with pytest.raises(ProgramRefused, match="could not be read"):
        answered(FORGED[name], plane)


def test_settings_are_those_of_this_side() -> None:
    ahead = answered(change(optimizer="<b>", hyper={"lr": NAN}, is_plain=False))
    assert (ahead.optimizer, ahead.hyper["lr"], ahead.is_plain) == ("SGD", 0.1, True)
