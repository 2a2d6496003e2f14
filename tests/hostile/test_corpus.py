"""Every hostile program ends in time and alone: the next reader's answer is right, nothing was
touched, and the app has not grown."""

import os
import time
from pathlib import Path

import pytest

from explorer import sandbox
from explorer.sandbox import Sandbox
from explorer.trace import TensorRecord, Trace
from tests.hostile.conftest import PATIENCE, SECRET, Canary, memory
from tests.hostile.corpus import GOOD, GROUPS

#: Seconds for one program, and for one of a group whose programs have to be stopped.
LIMIT, OTHER_LIMITS = 1.0, {"time": 0.3}
#: One program of so many in a group is run; the thorough part runs all of them.
EVERY = 20
#: The next reader's answer is looked at after every eighth program, and after one that was killed.
TOGETHER = 8

PRINTED = "tensor(37.5000, grad_fn=<MeanBackward0>) True tensor(0.) torch.Size([2])\n"


def timed(source: str, server: Sandbox, limit: float) -> tuple[Trace, float]:
    start = time.monotonic()
    trace = sandbox.run(source, timeout=limit, sandbox=server)
    return trace, time.monotonic() - start


def is_plain(value: object) -> bool:
    return not isinstance(value, TensorRecord)


def good_program_is_right(server: Sandbox, expected: list[float]) -> bool:
    trace = sandbox.run(GOOD, timeout=30, sandbox=server)
    return (
        trace.error is None
        and trace.output == PRINTED
        and trace.variables["x"].grad.tolist() == [[9.0, 12.0]]
        and trace.variables["r"].value.tolist() == expected
    )


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
@pytest.mark.parametrize("group", GROUPS)
def test_one_program_of_so_many(group, server, canary):
    end_alone(GROUPS[group][::EVERY], OTHER_LIMITS.get(group, LIMIT), server, canary)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
@pytest.mark.thorough
@pytest.mark.parametrize("group", GROUPS)
def test_all_programs(group, server, canary):
    end_alone(GROUPS[group], OTHER_LIMITS.get(group, LIMIT), server, canary)


def end_alone(programs: list[str], limit: float, server: Sandbox, canary: Canary) -> None:
    trace = sandbox.run(GOOD, timeout=30, sandbox=server)
    expected = trace.variables["r"].value.tolist()
    before = memory(os.getpid()), memory(server.pid)
    sources = [p.format(file=canary.file, name=SECRET, port=canary.port) for p in programs]
    for number, source in enumerate(sources, 1):
        trace, seconds = timed(source, server, limit)
        shown = [trace.output, trace.error, *filter(is_plain, trace.variables.values())]
        assert "do not tell" not in repr(shown), source[-200:]
        killed = trace.error is not None and "ended by signal" in trace.error.detail
        if killed or number % TOGETHER == 0 or number == len(sources):
            before_it = [text[-200:] for text in sources[:number][-TOGETHER:]]
            assert good_program_is_right(server, expected), before_it
        assert canary.is_untouched(), source[-200:]
        assert seconds < limit + PATIENCE, source[-200:]
    after = memory(os.getpid()), memory(server.pid)
    assert after[0] - before[0] < 50 * 2**20
    assert after[1] - before[1] < 50 * 2**20


@pytest.mark.fast
def test_there_are_more_than_200_in_all_groups():
    assert sum(map(len, GROUPS.values())) >= 200
    assert all(len(set(programs)) == len(programs) >= 20 for programs in GROUPS.values())


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_ninth_readers_program_is_answered_while_eight_run(server):
    """An order, not a time: the eight have all started before it, and none has ended after it."""
    hogs = [
        server.submit("run", {"source": program}, timeout=120, reader=f"hog {number}")
        for number, program in enumerate(GROUPS["time"][:8])
    ]
    while not all(hog.started for hog in hogs):
        for hog in hogs:
            assert not hog.wait(0.05)
    trace = sandbox.run(GOOD, timeout=30, reader="ninth", sandbox=server)
    still_run = [not hog.wait(0) for hog in hogs]
    for hog in hogs:
        hog.cancel()
    assert trace.output == PRINTED
    assert all(still_run)
