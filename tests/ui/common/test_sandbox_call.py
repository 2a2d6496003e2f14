"""Which traces are kept, and for how long."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from cachetools import LRUCache

import explorer
from explorer.language import ProgramError
from explorer.trace import Trace, from_plain, to_plain
from explorer.ui.common import sandbox_call

pytestmark = pytest.mark.fast


class Answered:
    """A call whose result is there."""

    def __init__(self, result: Trace) -> None:
        self._result = result

    def wait(self, seconds: float) -> bool:
        return True

    def result(self) -> Trace:
        return self._result

    def cancel(self) -> None:
        pass


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that reached the sandbox; each answers with the error named in its text."""
    sent: list[str] = []
    errors = {"busy": ProgramError("Too many."), "wrong": ProgramError("No such name.", line=1)}

    def submit(source: str, **_: object) -> Answered:
        sent.append(source)
        return Answered(Trace(source, error=errors.get(source)))

    monkeypatch.setattr(sandbox_call.sandbox, "submit_run", submit)
    monkeypatch.setattr(sandbox_call, "_traces", LRUCache(2))
    monkeypatch.setattr(sandbox_call.st, "session_state", {})
    return sent


def test_a_program_runs_once(asked: list[str]) -> None:
    assert sandbox_call.run("fine") is sandbox_call.run("fine")
    assert sandbox_call.run("wrong") is sandbox_call.run("wrong")
    assert asked == ["fine", "wrong"]


def test_another_setting_is_another_run(asked: list[str]) -> None:
    sandbox_call.run("fine")
    sandbox_call.run("fine", capture="retain_grad")
    sandbox_call.run("fine", upstream=[1.0])
    assert len(asked) == 3


def test_run_again_means_run(asked: list[str]) -> None:
    sandbox_call.run("fine")
    sandbox_call.run("fine", afresh=True)
    assert asked == ["fine", "fine"]


def test_a_crowd_is_not_remembered(asked: list[str]) -> None:
    sandbox_call.run("busy")
    sandbox_call.run("busy")
    assert asked == ["busy", "busy"]


def test_large_traces_leave_earlier() -> None:
    traces = LRUCache(sandbox_call.KEPT_BYTES, getsizeof=sandbox_call.charge)
    part = sandbox_call.KEPT_BYTES // 10
    for key in "abc":
        traces[key] = Trace(key, variables={"text": key * 4 * part})
    assert list(traces) == ["b", "c"]
    traces["huge"] = Trace("huge", variables={"text": "h" * 11 * part})
    assert list(traces) == ["huge"]
    del traces["huge"]
    for number in range(sandbox_call.KEPT + 1):
        traces[str(number)] = Trace("small")
    assert list(traces) == [str(number) for number in range(1, sandbox_call.KEPT + 1)]


def test_the_size_of_a_trace_is_about_what_it_takes() -> None:
    source = "import torch\nx = torch.ones(64, 64, requires_grad=True)\ny = x\n"
    source += "for i in range(100):\n    y = y * 1.0\ny.sum().backward()"
    plain = json.dumps(to_plain(explorer.run(source)))
    tracemalloc.start()
    trace = from_plain(Trace, json.loads(plain))
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert 0.7 < sandbox_call.size(trace) / taken < 1.4


def test_the_oldest_is_let_go(asked: list[str]) -> None:
    for source in ("a", "b", "a", "c", "a", "b"):
        sandbox_call.run(source)
    assert asked == ["a", "b", "c", "b"]
