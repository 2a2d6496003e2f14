"""Every hostile program ends in time and alone: the next reader's answer is right, nothing was
touched, and the app has not grown."""

import os
import socket
import time
from pathlib import Path

import pytest

from explorer import sandbox
from explorer.sandbox import Sandbox
from explorer.trace import TensorRecord, Trace
from tests.hostile.corpus import GOOD, GROUPS

#: Seconds for one program, and for one of a group whose programs have to be stopped.
LIMIT, OTHER_LIMITS = 1.0, {"time": 0.3}
#: Seconds in which a program that was stopped has ended, however busy the machine is; one that
#: hangs never ends.
PATIENCE = 20.0
#: One program of so many in a group is run; the thorough part runs all of them.
EVERY = 12
#: The next reader's answer is looked at after every eighth program, and after one that was killed.
TOGETHER = 8
SECRET = "EXPLORER_TEST_SECRET"

PRINTED = "tensor(37.5000, grad_fn=<MeanBackward0>) True tensor(0.) torch.Size([2])\n"


@pytest.fixture(scope="module")
def server():
    """One server for the whole corpus, with a secret in the app's environment."""
    os.environ[SECRET] = "do not tell"
    box = Sandbox()
    box.call("run", {"source": "x = 1"}, timeout=30)
    yield box
    box.stop()
    del os.environ[SECRET]


class Canary:
    """A file and a listener that a success would touch."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "canary"
        self.file.write_text("untouched")
        os.utime(self.file, (1, 1))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]

    def is_untouched(self) -> bool:
        try:
            self.listener.accept()
        except BlockingIOError:
            return (
                self.file.read_text() == "untouched"
                and self.file.stat().st_mtime == 1
                and len(list(self.file.parent.iterdir())) == 1
            )
        return False


@pytest.fixture
def canary(tmp_path):
    made = Canary(tmp_path)
    yield made
    made.listener.close()


def memory(pid: int) -> int:
    """Resident memory of a process in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(status.split("VmRSS:")[1].split()[0])


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
@pytest.mark.parametrize(
    "group", [pytest.param("state", marks=pytest.mark.fast), *(g for g in GROUPS if g != "state")]
)
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
        told = [trace.output, trace.error, *filter(is_plain, trace.variables.values())]
        assert "do not tell" not in repr(told), source[-200:]
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
