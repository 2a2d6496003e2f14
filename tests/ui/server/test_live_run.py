"""Frames of a drag, for the present session."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from explorer.program import ProgramError, ProgramRefused
from explorer.trace import Trace
from explorer.ui.server import live_run as module
from explorer.ui.server import sandbox_call
from explorer.ui.server.live_run import (
    REST,
    TRIES,
    end_live_run,
    live_call,
    live_run,
    seconds_until_next_try,
)

pytestmark = pytest.mark.fast


class Live:
    """A live run that refuses one source."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.is_closed = False

    def run(self, source: str, inputs: Any = None, **settings: Any) -> Trace:
        self.sent.append((source, inputs, settings))
        if source == "slow":
            raise ProgramRefused(ProgramError("Too slow."))
        return Trace(source)

    def call(self, job: str, request: Any) -> Any:
        self.sent.append((job, request))
        if request == "slow":
            raise ProgramRefused(ProgramError("Too slow."))
        return request

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def lives(monkeypatch: pytest.MonkeyPatch) -> list[Live]:
    made: list[Live] = []

    def submit_live(reader: str | None) -> Live:
        made.append(Live())
        return made[-1]

    monkeypatch.setattr(module.sandbox, "submit_live", submit_live)
    monkeypatch.setattr(module.st, "session_state", {})
    return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Time stands still, but for what is added."""
    now = [1000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def add(seconds: float) -> None:
        now[0] += seconds

    return add


def test_one_live_run_serves_a_drag(lives: list[Live]) -> None:
    for x in (1.0, 2.0):
        assert live_run("fine", {"x": x}, seed=3) == Trace("fine")
    assert [live.sent for live in lives] == [
        [("fine", {"x": 1.0}, {"seed": 3}), ("fine", {"x": 2.0}, {"seed": 3})]
    ]


def test_after_slow_frames_the_drag_rests_longer_and_longer(
    lives: list[Live], clock: Callable[[float], None]
) -> None:
    slow = ProgramError("Too slow.")
    for source in ("slow", "slow", "fine", "slow", "slow"):
        assert (live_run(source).error == slow) == (source == "slow")
        assert seconds_until_next_try() == (0 if source == "slow" else None)
    for rest in (REST, 2 * REST, 4 * REST):
        live_run("slow")
        sent = len(lives[0].sent)
        assert seconds_until_next_try() == pytest.approx(rest)
        clock(0.9 * rest)
        assert live_run("fine").error == slow
        assert len(lives[0].sent) == sent
        clock(0.2 * rest)
    assert live_run("fine") == Trace("fine")
    assert seconds_until_next_try() is None


def test_letting_go_ends_the_rest(lives: list[Live]) -> None:
    for _ in range(TRIES):
        live_run("slow")
    end_live_run()
    assert lives[0].is_closed
    assert live_run("fine") == Trace("fine")
    assert len(lives) == 2


def test_slow_calls_rest_until_the_end(lives: list[Live]) -> None:
    assert live_call("look_ahead", "fine") == "fine"
    for request in ("slow", "slow", "slow", "fine"):
        with pytest.raises(ProgramRefused, match="Too slow"):
            live_call("look_ahead", request)
    assert lives[0].sent == [("look_ahead", "fine"), *3 * [("look_ahead", "slow")]]
    end_live_run()
    assert live_call("look_ahead", "fine") == "fine"


def test_leaving_the_page_ends_it(lives: list[Live]) -> None:
    sandbox_call.enter_page("expression")
    live_run("fine")
    sandbox_call.enter_page("expression")
    assert not lives[0].is_closed
    sandbox_call.enter_page("network")
    assert lives[0].is_closed
    end_live_run()  # once more changes nothing
