"""Jobs that run while the app does something else: progress, stop and cancel."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from functools import partial
from typing import Any

import pytest

from explorer import sandbox
from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox
from explorer.sandbox.client import app_sandbox
from explorer.sandbox.messages import LIMITS, AnswerLimits
from explorer.ui.server.sandbox_call import Job
from explorer.ui.server.shared_call import SharedCall
from tests.sandbox.test_calls import eventually

LOOP = """\
import torch
x = torch.tensor(2.0, requires_grad=True)
i = 0
while True:
    i += 1
    y = x * x
    y.backward()
    if i % 100 == 0:
        print(i)
"""


def started(call: Any) -> Any:
    assert eventually(lambda: call.wait(0.01) or call.started is not None, seconds=60)
    return call


@pytest.mark.fast
def test_a_stopped_program_keeps_what_it_did() -> None:
    reported: list[Any] = []
    call = sandbox.submit_run(LOOP, timeout=60, on_progress=reported.append)
    assert eventually(lambda: call.wait(0.01) or len(reported) > 5, seconds=60)
    assert not call.done
    call.stop()
    call.stop()  # once more changes nothing
    trace = call.result()
    assert trace.error.stopped
    assert trace.error.line in range(4, 10)
    assert trace.error.message.startswith("You stopped the program after")
    assert trace.pass_count > 5
    assert {"x", "y"} <= set(trace.variables)
    assert [message["count"] for message in reported if message["line"] == 6] == sorted(
        message["count"] for message in reported if message["line"] == 6
    )
    assert trace.output.startswith("".join(message["printed"] for message in reported))


@pytest.mark.fast
def test_waiting_takes_no_longer_than_it_may() -> None:
    call = started(sandbox.submit_run(LOOP, timeout=60))
    start = time.monotonic()
    assert not call.wait(0.05)
    assert time.monotonic() - start < 5  # not the program's 60
    call.cancel()
    assert call.done


def test_a_stop_inside_a_long_operation_ends_the_child(forking: Sandbox) -> None:
    call = started(forking.submit("endless_operator", None, timeout=60))
    call.stop()
    with pytest.raises(ProgramRefused) as refused:
        call.result()
    assert refused.value.error.stopped
    assert refused.value.error.line == 3
    assert "cannot be interrupted" in refused.value.error.message


def test_a_child_that_noticed_the_stop_may_take_its_time(forking: Sandbox) -> None:
    code = "while not stopped(): time.sleep(0.01)\ntime.sleep(2.5)\nresult = 7"
    assert stop_soon(forking.submit("stoppable", {"code": code}, timeout=60)) == 7


def stop_soon(call: Any) -> Any:
    started(call).stop()
    return call.result()


def test_a_job_in_the_queue_can_be_stopped() -> None:
    box = Sandbox(jobs="tests.sandbox.jobs", processes=1, warm_up=False)
    try:
        first = started(box.submit("sleep", 60, timeout=90, reader="a"))
        waiting = box.submit("sleep", 60, timeout=90, reader="a")
        assert eventually(lambda: waiting.wait(0.01) or waiting.position == 1, seconds=20)
        waiting.stop()
        with pytest.raises(ProgramRefused, match="before it started") as refused:
            waiting.result()
        assert refused.value.error.stopped
        assert not first.wait(0)
    finally:
        box.stop()


def test_a_reader_who_leaves_ends_the_child(forking: Sandbox) -> None:
    reported: list[int] = []
    call = forking.submit("hold", None, timeout=60, on_progress=reported.append)
    while not reported:
        assert not call.wait(0.1)
    del call
    assert eventually(lambda: not alive(reported[0]), seconds=20)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


FLOOD = """
def frame(kind, body):
    data = len(body).to_bytes(4, "big") + kind + body
    while data: data = data[os.write(channel, data):]
"""


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("while True: frame(b'P', b'1')", "could not be read"),
        ("while True: frame(b'X', b'null')", "could not be read"),
        ("frame(b'X', b' ' * 100)", "could not be read"),
        ("frame(b'P', b'1' * (2**15 + 1))", "could not be read"),
        ("frame(b'P', b'1')", "could not be read"),
        ("frame(b'P', b'{\"$\":\"RunProgress\",\"line\":\"a\",\"count\":1}')", "could not be read"),
    ],
)  # fmt: skip
def test_forged_progress(
    forking: Sandbox, monkeypatch: pytest.MonkeyPatch, code: str, error: str
) -> None:
    monkeypatch.setitem(LIMITS, "raw", LIMITS["run"])
    request = {"code": FLOOD + code + "\ntime.sleep(60)"}
    call = SharedCall(partial(forking.submit, "raw", request, timeout=20))
    with pytest.raises(ProgramRefused, match=error):
        call.result()


def test_limits_of_progress_are_a_jobs_own() -> None:
    assert AnswerLimits().frames()[ord("P")] < LIMITS["run"].frames()[ord("P")]


def test_cancelling_while_another_thread_waits_harms_no_one() -> None:
    """As when new text is run while the page still looks at the job before."""
    sandbox.run("x = 1")
    pid, submit = app_sandbox.pid, partial(sandbox.submit_run, LOOP, timeout=20)
    for delay in (0.02, 0.05, 0.1, 0.15):
        job = Job("key", "Running", True, partial(SharedCall, submit))
        waiting = threading.Thread(target=job.wait, args=(0.2,))
        waiting.start()
        time.sleep(delay)
        job.cancel()
        waiting.join()
    assert app_sandbox.pid == pid
    assert sandbox.run("x = 1").error is None


def test_a_job_that_nobody_holds_ends() -> None:
    submit = partial(sandbox.submit_run, LOOP, timeout=60)
    job = Job("key", "Running", True, partial(SharedCall, submit))
    job.wait(0.1)
    assert job.call is not None
    started(job.call._call)
    connection = weakref.ref(job.call._call._connection)
    gc.disable()
    try:
        del job
        assert connection() is None
    finally:
        gc.enable()
