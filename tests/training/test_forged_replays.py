"""Answers of a child to a press: of the right types, and wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from explorer.program import ProgramRefused
from explorer.training import Child, ProgramProblem, TrainingSession, through_element
from explorer.training.history import from_data
from explorer.training.replay import replay

pytestmark = pytest.mark.fast
PROBLEM = ProgramProblem("import torch\nw = torch.ones(2, requires_grad=True)", "(w**2).sum()")
EMPTY = {"$": "array", "dtype": "<f4", "shape": [0], "data": ""}


def view(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda answer: answer["view"].update(changes)


def parameter(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda answer: answer["view"]["parameters"]["w"].update(changes)


def part(of: str, **changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda answer: answer["view"][of].update(changes)


def answer(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda answer: answer.update(changes)


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "no event": answer(event=None),
    "no number of actions": answer(done=None),
    "more actions than were asked for": answer(done=3),
    "less than none": answer(done=-1),
    "a snapshot that is none": answer(bases=[[0, {"dict": []}]]),
    "a position that does not exist": lambda a: a.update(
        bases=[[10**9, row] for _, row in a["bases"]] or None
    ),
    "no track": view(track=None),
    "a track of unequal lists": lambda a: a["view"]["track"]["loss"].update(values=[1.0] * 9),
    "no parameters": view(parameters={}),
    "another optimizer": view(optimizer="Adam"),
    "no settings": part("settings", hyper={}),
    "no chosen settings": part("settings", chosen={}),
    "settings that are not finite": lambda a: a["view"]["settings"]["hyper"].update(
        lr=float("nan")
    ),
    "a group of unknown parameters": lambda a: a["view"]["settings"].update(
        groups=[{"$": "Group", "parameters": ["x"], "hyper": a["view"]["settings"]["hyper"]}]
    ),
    "a group with all parameters": lambda a: a["view"]["settings"].update(
        groups=[{"$": "Group", "parameters": ["w"], "hyper": a["view"]["settings"]["hyper"]}]
    ),
    "a group without settings": part(
        "settings", groups=[{"$": "Group", "parameters": ["w"], "hyper": {}}]
    ),
    "no previews": view(previews={}),
    "a graph that does not exist": part("graph", state="?"),
    "edges to missing nodes": part("graph", edges=[{"$": "Edge", "source": "a", "target": "b"}]),
    "a loss of no number": part("loss", value=EMPTY),
    "negative steps": part("track", steps=-1),
    "a value without elements": parameter(value=EMPTY),
    "a gradient of another shape": parameter(grad=EMPTY),
    "a buffer without elements": parameter(buffers={"momentum_buffer": EMPTY}),
    "arithmetic without lines": lambda a: a["view"]["step"]["next"]["w"].update(lines=[]),
    "an unknown scheduler": part("settings", scheduler="?"),
    "a scheduler of which nothing is said": lambda a: a["view"]["previews"].pop("schedule"),
    "clipping that was not chosen": part("clip", name="clip_grad_value_"),
    "clipping without gradients": lambda a: a["view"]["clip"]["next"].update(grads={}, before={}),
    "clipping of another parameter": lambda a: a["view"]["clip"]["next"].update(
        {key: {"v": a["view"]["clip"]["next"][key]["w"]} for key in ("grads", "before")}
    ),
    "clipping of another shape": lambda a: a["view"]["clip"]["next"]["before"].update(w=EMPTY),
    "a norm of no number": lambda a: a["view"]["clip"]["next"]["lines"][0].update(value=EMPTY),
    "rates without steps": lambda a: a["view"]["track"]["lr"].update(values=[0.1] * 9),
    "arithmetic of another shape": lambda a: a["view"]["step"]["next"]["w"]["lines"][0].update(
        value=EMPTY
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_is_refused_and_changes_nothing(name: str) -> None:
    forge: list[Callable[[dict[str, Any]], object]] = []

    def ask(request: Any) -> Any:
        plain = replay(request)
        for change in forge:
            change(plain)
        return plain

    session = TrainingSession(PROBLEM, lr=0.1, clip={"name": "clip_grad_norm_"}, where=Child(ask))
    assert session.iterate(2).ok
    before = session.view(), session.actions, session.points()
    forge.append(FORGED[name])
    for press in (session.iterate, session.backward):
        event = press()
        assert event.error is not None
        assert "could not be read" in event.message
    assert repr((session.view(), session.actions, session.points())) == repr(before)
    forge.clear()
    assert session.iterate(1).ok


NAN = {"$": "array", "dtype": "<f4", "shape": [1], "data": "AADAfw=="}
SURFACES: dict[str, dict[str, Any]] = {
    "an axis that is not finite": {"x": NAN},
    "an axis of no numbers": {"x": EMPTY},
    "a line at no height": {"y": NAN},
    "losses of another shape": {"loss": NAN},
    "one label": {"labels": {"tuple": ["w"]}},
}


@pytest.mark.parametrize("name", SURFACES)
def test_a_surface_that_cannot_be_drawn_is_refused(name: str) -> None:
    forged: dict[str, Any] = {}

    def ask(request: Any) -> Any:
        plain = replay(request)
        if forged:
            plain["surface"].update(forged)
        return plain

    session = TrainingSession(PROBLEM, lr=0.1, where=Child(ask))
    plane = through_element(session.points()[-1], ("w", (0,)))
    assert session.surface(plane).x.size > 1
    forged.update(SURFACES[name])
    with pytest.raises(ProgramRefused, match="could not be read"):
        session.surface(plane)


@pytest.mark.parametrize("name", ["torch.ops", "hub", "__doc__", "load", "torch.nn"])
def test_the_type_of_a_tensor_is_one_of_torchs_types(name: str) -> None:
    array = EMPTY | {"shape": [1], "data": "AACAPw=="}
    assert from_data({"tensor": "torch.float32", "array": array}).tolist() == [1.0]
    with pytest.raises(KeyError):
        from_data({"tensor": name, "array": array})
