"""One run for all who ask for the same while it is under way."""

from __future__ import annotations

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from explorer import sandbox
from explorer.program import ProgramError, ProgramRefused
from explorer.trace import Trace
from explorer.ui.server import sandbox_call
from explorer.ui.server.shared_call import SharedCall, join

#: A run long enough for others to come meanwhile.
LONG = "import torch\nx = torch.ones(2, requires_grad=True)\nfor i in range(10**9):\n    i = i + 1"
#: A run that ends, after all have asked for it.
SHORT = "import time\nprint('once')\ntime.sleep(3)"


class Fake:
    """A call of the sandbox that is done when a test says so."""

    def __init__(self, **_: Any) -> None:
        self.answered, self.stops = threading.Event(), 0
        self.position, self.started = 0, 0.0

    @property
    def done(self) -> bool:
        return self.answered.is_set()

    def wait(self, seconds: float) -> bool:
        return self.answered.wait(seconds)

    def result(self) -> Any:
        return "answer"

    def stop(self) -> None:
        self.stops += 1
        self.answered.set()


@pytest.mark.fast
def test_many_wait_for_one_call() -> None:
    made: list[Fake] = []

    def submit(**options: Any) -> Any:
        made.append(Fake(**options))
        return made[-1]

    calls = [join("a", partial(SharedCall, submit)) for _ in range(30)]
    assert len(made) == 1
    assert join("b", partial(SharedCall, submit)) is not calls[0]
    start = time.monotonic()
    with ThreadPoolExecutor(30) as pool:
        waits = [pool.submit(call.wait, 0.2) for call in calls]
        assert not any(wait.result() for wait in waits)
        # One after the other they would take 6 s.
        assert time.monotonic() - start < 3
        made[0].answered.set()
        waits = [pool.submit(call.wait, 5) for call in calls]
        assert all(wait.result() for wait in waits)
    assert {call.result() for call in calls} == {"answer"}
    assert join("a", partial(SharedCall, submit)) is not calls[0]  # whoever comes later asks anew


@pytest.mark.fast
def test_a_call_ends_with_its_last_reader() -> None:
    make: Any = partial(SharedCall, Fake)
    call = join("c", make)
    other = join("c", make)
    assert other is call
    del call
    gc.collect()
    assert join("c", make) is other


def test_a_class_runs_a_program_once() -> None:
    submitted = []

    def submit(**options: Any) -> sandbox.Call[Trace]:
        submitted.append(options)
        return sandbox.submit_run(SHORT, reader=f"reader {len(submitted)}", **options)

    all_here = threading.Barrier(20)

    def read(_: int) -> Trace:
        call = join("class", partial(SharedCall, submit))
        all_here.wait(60)
        while not call.wait(0.2):
            pass
        trace: Trace = call.result()
        return trace

    with ThreadPoolExecutor(20) as pool:
        traces = list(pool.map(read, range(20)))
    assert len(submitted) == 1
    assert all(trace is traces[0] for trace in traces)
    assert traces[0].output == "once\n"


@pytest.mark.fast
def test_what_another_reader_stops_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other reader gets the whole run, and not what was done until then; even if the one who
    stops it does so again and again."""
    calls: list[Any] = []

    def submit(source: str, **options: Any) -> Any:
        calls.append(Fake())
        stopped = ProgramError("Stopped.", stopped=True) if len(calls) == 1 else None
        calls[-1].result = lambda: Trace(source, error=stopped)
        return calls[-1]

    sessions: list[dict[str, Any]] = [{}, {}]
    monkeypatch.setattr(sandbox_call.sandbox, "submit_run", submit)
    monkeypatch.setattr(sandbox_call, "_show", lambda slot: None)
    monkeypatch.setattr(sandbox_call, "WAIT", 0.01)

    def run(session: dict[str, Any]) -> Trace | None:
        monkeypatch.setattr(sandbox_call.st, "session_state", session)
        return sandbox_call.run("shared and stopped")

    assert [run(session) for session in sessions] == [None, None]
    assert len(calls) == 1
    monkeypatch.setattr(sandbox_call.st, "session_state", sessions[0])
    sandbox_call._stop("run")
    first = run(sessions[0])
    assert first is not None
    assert first.error is not None
    assert run(sessions[1]) is None
    assert run(sessions[1]) is None  # under way again
    assert len(calls) == 2
    sessions[0].clear()
    assert run(sessions[0]) is None
    sandbox_call._stop("run")
    assert run(sessions[1]) is None
    assert [call.stops for call in calls] == [1, 0, 1]
    calls[1].answered.set()
    second = run(sessions[1])
    assert second is not None
    assert second.error is None


def test_a_reader_who_leaves_does_not_end_the_run_of_others() -> None:
    make = partial(SharedCall, partial(sandbox.submit_run, LONG, timeout=20))
    mine, other = join("long", make), join("long", make)
    assert mine is other
    while mine.started is None:
        mine.wait(0.1)
    del mine
    gc.collect()
    assert not other.wait(0.3)
    other.stop()
    while not other.wait(1):
        pass
    assert other.result().error.stopped


def test_an_error_is_raised_for_all() -> None:
    def refuse() -> Any:
        raise ProgramRefused(ProgramError("No."))

    fake: Any = Fake()
    fake.answered.set()
    fake.result = refuse
    call = SharedCall(lambda **_: fake)
    for _ in range(2):
        with pytest.raises(ProgramRefused):
            call.result()
