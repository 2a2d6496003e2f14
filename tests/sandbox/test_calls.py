"""Progress, waiting, cancelling, turns, and isolation between jobs."""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox
from tests.marks import thorough


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    limit = time.monotonic() + seconds
    while not holds() and time.monotonic() < limit:
        time.sleep(0.01)
    return holds()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


class Stop(BaseException):
    """Like the exception with which Streamlit stops a page, this is not an Exception."""


def test_progress_comes_before_the_answer(sandbox: Sandbox) -> None:
    messages: list[Any] = []
    request = {"steps": 3, "pause": 0}
    assert sandbox.call("progress", request, on_progress=messages.append) == "done"
    assert messages == [{"step": 0}, {"step": 1}, {"step": 2}]


@pytest.mark.thorough
def test_a_flood_of_progress_waits_for_its_reader(forking: Sandbox) -> None:
    messages: list[Any] = []
    request = {"steps": 20_000, "pause": 0}
    assert forking.call("progress", request, on_progress=messages.append, timeout=30) == "done"
    assert len(messages) == 20_000


def test_leaving_ends_the_child(sandbox: Sandbox) -> None:
    pids: list[int] = []

    def leave(pid: int) -> None:
        pids.append(pid)
        raise Stop

    with pytest.raises(Stop):
        sandbox.call("hold", None, timeout=60, on_progress=leave)
    assert eventually(lambda: gone(pids[0]))


def test_a_waiting_reader_gets_its_position_and_may_leave_the_queue(forking: Sandbox) -> None:
    busy = threading.Semaphore(0)

    def hold() -> None:
        with pytest.raises(ProgramRefused):
            forking.call("hold", None, timeout=4, reader="a", on_progress=lambda _: busy.release())

    positions: list[int] = []

    def leave(position: int) -> None:
        raise Stop

    with ThreadPoolExecutor(2) as pool:
        holds = [pool.submit(hold) for _ in range(2)]
        assert busy.acquire(timeout=10)
        assert busy.acquire(timeout=10)
        # A reader who occupies every processor waits for one of their own jobs to end.
        with pytest.raises(Stop):
            forking.call("double", [1], reader="a", on_wait=leave)
        assert forking.call("double", [1], reader="a", on_wait=positions.append) == [2]
        for future in holds:
            future.result()
    assert positions == [1]


def test_one_readers_jobs_do_not_starve_anothers(forking: Sandbox) -> None:
    order: list[str] = []

    def call(reader: str) -> None:
        forking.call("sleep", 0.2, timeout=30, reader=reader)
        order.append(reader)

    with ThreadPoolExecutor(9) as pool:
        many = [pool.submit(call, "a") for _ in range(8)]
        assert eventually(lambda: len(order) >= 2)
        pool.submit(call, "b").result()
        done = len(order)
        for future in many:
            future.result()
    assert done < 8


@pytest.mark.thorough
def test_eight_hogs_do_not_hold_up_a_ninth_reader(forking: Sandbox) -> None:
    ended: list[int] = []

    def hog(number: int) -> None:
        with pytest.raises(ProgramRefused, match="more than 4 s"):
            forking.call("endless_loop", None, timeout=4, reader=f"hog {number}")
        ended.append(number)

    with ThreadPoolExecutor(8) as pool:
        hogs = [pool.submit(hog, number) for number in range(8)]
        time.sleep(0.2)  # all eight are in the queue
        assert forking.call("double", [4], reader="ninth") == [8]
        done = len(ended)
        for future in hogs:
            future.result()
    # One after the other on two processors, all eight would have had to end first.
    assert done <= 4


@pytest.mark.parametrize("sandbox", ["forking", thorough("portable")], indirect=True)
def test_no_state_is_kept_between_runs(sandbox: Sandbox) -> None:
    first = sandbox.call("random", None)
    assert sandbox.call("random", None) == first
    assert sandbox.call("sleep", 0) != sandbox.call("sleep", 0)  # two processes


def test_the_environment_is_out_of_reach(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hunter2")
    assert sandbox.call("environment", None) == []


def test_a_job_knows_when_to_stop_by_itself(forking: Sandbox) -> None:
    assert 0.5 < forking.call("until_deadline", None, timeout=1) < 1


@pytest.mark.parametrize(("kind", "jobs"), [("forking", 24), thorough("portable", 4)])
def test_many_threads_get_their_own_answers(
    kind: str, jobs: int, request: pytest.FixtureRequest
) -> None:
    """Few jobs where each needs a new process."""
    sandbox = request.getfixturevalue(kind)
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda n: sandbox.call("double", [n], timeout=30), range(jobs))
    assert [answer[0] for answer in answers] == [2 * n for n in range(jobs)]
