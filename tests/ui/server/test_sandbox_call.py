"""Which traces are kept, and for how long."""

from __future__ import annotations

from functools import partial

import pytest

from explorer.program import ProgramError
from explorer.sandbox import exit_reasons
from explorer.trace import Trace
from explorer.ui.server import sandbox_call
from explorer.ui.server.shared_cache import SharedCache

pytestmark = pytest.mark.fast


class Answered:
    """A call whose result is there."""

    def __init__(self, result: Trace) -> None:
        self._result = result

    def wait(self, seconds: float) -> bool:
        return True

    def result(self) -> Trace:
        return self._result

    done, position, started = True, 0, 0.0

    def cancel(self) -> None:
        pass


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that reached the sandbox; each answers with the error named in its text."""
    sent: list[str] = []
    errors = {
        "busy": ProgramError("Too many."),
        "wrong": ProgramError("No such name.", line=1),
        "late": exit_reasons.explain("out_of_time", 1, timeout=5.0),
    }

    def submit(source: str, **_: object) -> Answered:
        sent.append(source)
        return Answered(Trace(source, error=errors.get(source)))

    monkeypatch.setattr(sandbox_call.sandbox, "submit_run", submit)
    monkeypatch.setattr(sandbox_call, "_traces", SharedCache(2000, measure=lambda trace: 1))
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


def test_who_ran_out_of_time_is_not_answered_for_others(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be the machine that was slow."""
    sandbox_call.run("late")
    sandbox_call.run("late")
    assert asked == ["late"]
    monkeypatch.setattr(sandbox_call.st, "session_state", {})
    sandbox_call.run("late")
    assert asked == ["late", "late"]


def test_the_oldest_is_let_go(asked: list[str]) -> None:
    for source in ("a", "b", "a", "c", "a", "b"):
        sandbox_call.run(source)
    assert asked == ["a", "b", "c", "b"]


def test_a_job_that_rests_is_submitted_when_it_is_wanted(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = partial(sandbox_call.sandbox.submit_run, "fine")
    ask = partial(sandbox_call.ask, "slot", "key", submit, label="")
    place = sandbox_call.st.empty()
    monkeypatch.setattr(sandbox_call, "_show", lambda slot: None)
    assert ask(rest=60.0, place=place) is None
    assert ask(rest=60.0, place=place) is None
    assert asked == []
    assert ask(place=place) == Trace("fine")
    assert asked == ["fine"]


@pytest.mark.parametrize(("times", "looks"), [(0, [0.0]), (1, [0.2]), (3, [0.2, 0.2, 0.2])])
def test_a_page_waits_for_a_job_in_steps(times: int, looks: list[float]) -> None:
    waited: list[float] = []

    class Slow(Answered):
        done = False

        def wait(self, seconds: float) -> bool:
            waited.append(seconds)
            return len(waited) > 2

    job = sandbox_call.Job("", "", False, lambda: Slow(Trace("")))
    assert sandbox_call._wait(job, times) == (len(looks) > 2)
    assert waited == looks
