"""Answers as only a program that has broken out of the language could send them."""

from typing import Any

import pytest

from explorer import sandbox
from explorer.language import ProgramRefused
from explorer.sandbox import client
from explorer.sandbox.client import rebuilt
from explorer.trace import Trace

pytestmark = pytest.mark.fast


class Child:
    """Answers every call with the same."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def call(self, job: str, request: Any, **options: Any) -> Any:
        return self.answer


def array(**changes: Any) -> dict[str, Any]:
    return {"$": "array", "dtype": "<f4", "shape": [1], "data": "AACAPw=="} | changes


ANSWERS: list[Any] = [
    5,
    [1],
    {"$": []},
    {"$": {}, "source": 1},
    {"$": "Trace", "source": "x", "error": 5},
    {"$": "Trace", "source": "x", "variables": {"x": array(dtype=5)}},
    {"$": "Trace", "source": "x", "variables": {"x": array(dtype="," * 9)}},
    {"$": "Trace", "source": "x", "variables": {"x": array(shape=5)}},
    {"$": "Trace", "source": "x", "variables": {"x": array(shape=[2**70])}},
    {"$": "Trace", "source": "x", "variables": {"x": {"$": "array"}}},
    {"$": "Trace", "source": "x", "answers": [{"$": "Answer", "key": 1, "title": 2, "text": 3}]},
]


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_a_broken_answer_is_a_sentence(answer: Any) -> None:
    child: Any = Child(answer)
    found = sandbox.run("x = 1", sandbox=child)
    assert isinstance(found, Trace)
    assert found.error is not None
    assert found.error.message == "The program's answer could not be read."
    with pytest.raises(ProgramRefused, match="could not be read"):
        sandbox.check("x = 1", sandbox=child)


def test_whatever_building_raises_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(kind: type, plain: Any) -> Any:
        raise OverflowError

    monkeypatch.setattr(client, "from_plain", broken)
    with pytest.raises(ProgramRefused, match="could not be read"):
        rebuilt(Trace, {})


def test_the_source_is_the_one_asked() -> None:
    child: Any = Child({"$": "Trace", "source": "another"})
    assert sandbox.run("x = 1", sandbox=child).source == "x = 1"
