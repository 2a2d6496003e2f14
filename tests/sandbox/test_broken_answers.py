"""Invalid answers, which a child could send."""

import functools
from types import SimpleNamespace
from typing import Any

import pytest

from explorer import sandbox
from explorer.program import ProgramRefused
from explorer.sandbox import client
from explorer.sandbox.client import parse_answer
from explorer.trace import Trace

pytestmark = pytest.mark.fast


class FakeSandbox:
    """Gives every call the same answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def call(self, job: str, request: Any, **options: Any) -> Any:
        return self.answer

    def submit(self, job: str, request: Any, *, read: Any, **options: Any) -> Any:
        return SimpleNamespace(result=lambda: read(lambda: self.answer))


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
    {"$": "Trace", "source": "x", "variables": {"x": array(dtype="|V4")}},
    {"$": "Trace", "source": "x", "seed": 10**30},
    {"$": "Trace", "source": "x", "variables": {"x": [1, 2, 3, 4, 5, 6, 7, 8, 10**30]}},
    {
        "$": "Trace",
        "source": "x",
        "variables": {"x": functools.reduce(lambda v, _: [v], range(50))},
    },
    {"$": "Trace", "source": "x", "variables": {"x": array(shape=[2**70])}},
    {"$": "Trace", "source": "x", "variables": {"x": {"$": "array"}}},
    {"$": "Trace", "source": "x", "answers": [{"$": "Answer", "key": 1, "title": 2, "text": 3}]},
]


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_an_invalid_answer_is_an_error_message(answer: Any) -> None:
    fake: Any = FakeSandbox(answer)
    trace = sandbox.run("x = 1", sandbox=fake)
    assert isinstance(trace, Trace)
    assert trace.error is not None
    assert trace.error.message == "The program's result could not be read."
    with pytest.raises(ProgramRefused, match="could not be read"):
        sandbox.check("x = 1", sandbox=fake)


def test_any_exception_while_parsing_is_an_error_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(kind: type, plain: Any) -> Any:
        raise OverflowError

    monkeypatch.setattr(client, "from_plain", broken)
    with pytest.raises(ProgramRefused, match="could not be read"):
        parse_answer(Trace, {})


def test_the_source_is_the_one_sent() -> None:
    fake: Any = FakeSandbox({"$": "Trace", "source": "another"})
    assert sandbox.run("x = 1", sandbox=fake).source == "x = 1"
