"""Frames of a drag, for the present session."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.language import ProgramError, ProgramRefused
from explorer.trace import Trace
from explorer.ui.common import live_run as module
from explorer.ui.common import sandbox_call
from explorer.ui.common.live_run import (
    end_live_run,
    live_call,
    live_run,
    may_succeed_again,
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


def test_one_live_run_serves_a_drag(lives: list[Live]) -> None:
    for x in (1.0, 2.0):
        assert live_run("fine", {"x": x}, seed=3) == Trace("fine")
    assert [live.sent for live in lives] == [
        [("fine", {"x": 1.0}, {"seed": 3}), ("fine", {"x": 2.0}, {"seed": 3})]
    ]


def test_after_slow_frames_there_are_no_more_until_the_end(lives: list[Live]) -> None:
    for source in ("slow", "slow", "fine", "slow", "slow", "slow"):
        trace = live_run(source)
        assert trace is not None
        assert (trace.error == ProgramError("Too slow.")) == (source == "slow")
        assert may_succeed_again() == (source == "slow" and len(lives[0].sent) < 6)
    assert live_run("fine") is None
    end_live_run()
    assert lives[0].is_closed
    assert live_run("fine") == Trace("fine")
    assert len(lives) == 2


def test_slow_calls_are_the_last_until_the_end(lives: list[Live]) -> None:
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
