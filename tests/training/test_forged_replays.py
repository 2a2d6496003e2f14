"""Answers to a press of a child that has left the language: of the right types, and wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from explorer.training import ProgramProblem, RemoteSession
from explorer.training.history import from_data
from explorer.training.replay import replay

pytestmark = pytest.mark.fast
PROBLEM = ProgramProblem("import torch\nw = torch.ones(2, requires_grad=True)", "(w**2).sum()")
EMPTY = {"$": "array", "dtype": "<f4", "shape": [0], "data": ""}


def view(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda answer: answer["view"].update(changes)


def parameter(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda answer: answer["view"]["parameters"]["w"].update(changes)


def answer(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda answer: answer.update(changes)


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "no event": answer(event=None),
    "no actions": answer(actions=None),
    "an unknown action": answer(actions=[{"tuple": ["exec", None]}]),
    "a snapshot that is none": answer(bases=[[0, {"dict": []}]]),
    "a position that does not exist": lambda a: a.update(
        bases=[[10**9, row] for _, row in a["bases"]] or None
    ),
    "no track": answer(track=None),
    "a track of unequal lists": lambda a: a["track"].update(losses=[1.0] * 9),
    "no parameters": view(parameters={}),
    "another optimizer": view(optimizer="Adam"),
    "no settings": view(hyper={}),
    "settings that are not finite": lambda a: a["view"]["hyper"].update(lr=float("nan")),
    "no previews": view(previews={}),
    "a graph that does not exist": view(graph="?"),
    "edges to missing nodes": view(edges=[{"$": "Edge", "source": "a", "target": "b"}]),
    "a loss of no number": view(loss=EMPTY),
    "negative steps": view(steps=-1),
    "a value without elements": parameter(value=EMPTY),
    "a gradient of another shape": parameter(grad=EMPTY),
    "a buffer without elements": parameter(buffers={"momentum_buffer": EMPTY}),
    "arithmetic without lines": lambda a: a["view"]["next"]["w"].update(lines=[]),
    "arithmetic of another shape": lambda a: a["view"]["next"]["w"]["lines"][0].update(value=EMPTY),
}


@pytest.mark.parametrize("name", FORGED)
def test_is_refused_and_changes_nothing(name: str) -> None:
    forge: list[Callable[[dict[str, Any]], object]] = []

    def ask(request: Any) -> Any:
        plain = replay(request)
        for change in forge:
            change(plain)
        return plain

    session = RemoteSession(PROBLEM, ask, lr=0.1)
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


@pytest.mark.parametrize("name", ["torch.ops", "hub", "__doc__", "load", "torch.nn"])
def test_the_type_of_a_tensor_is_one_of_torchs_types(name: str) -> None:
    array = EMPTY | {"shape": [1], "data": "AACAPw=="}
    assert from_data({"tensor": "torch.float32", "array": array}).tolist() == [1.0]
    with pytest.raises(KeyError):
        from_data({"tensor": name, "array": array})
