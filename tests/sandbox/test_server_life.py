"""The server starts when needed, restarts when it dies, ends with the app, and leaks nothing."""

import os
import signal
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path

import pytest

from explorer import limits
from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox, wire
from explorer.sandbox.messages import limits_of
from tests.marks import sample, thorough
from tests.sandbox.test_calls import eventually, gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def _descriptors(pid: int | str) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def _zygote(pid: int) -> int:
    """The process id of the zygote, the server's only child."""
    (zygote,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(zygote)


def _children(pid: int) -> list[str]:
    """The process ids of the children that the zygote has forked."""
    zygote = _zygote(pid)
    return Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()


def _settle(sandbox: Sandbox) -> None:
    """Wait until the spare child is ready and the server has the connection to it: the server
    replies to an unknown client only after that."""
    assert eventually(lambda: len(_children(sandbox.pid or 0)) == 1)
    assert sandbox._server is not None
    with sandbox._server.connect() as connection:
        connection.sendall(wire.make_frame(wire.HEADER, b"{}"))
        assert wire.receive_frame(connection) is None


def _megabytes(pid: int | str) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def _pid(sandbox: Sandbox) -> int:
    sandbox.call("double", [1])
    assert sandbox.pid is not None
    return sandbox.pid


@pytest.mark.thorough
def test_two_hundred_jobs_leak_nothing(forking: Sandbox) -> None:
    def jobs(count: int) -> None:
        for number in range(count):
            if number % 10:
                assert forking.call("double", [number]) == [2 * number]
            else:
                with pytest.raises(ProgramRefused):
                    forking.call("segfault" if number % 20 else "refuses", None)

    pid = _pid(forking)
    jobs(20)
    _settle(forking)
    before = _descriptors("self"), _descriptors(pid), _megabytes("self"), _megabytes(pid)
    jobs(200)
    assert forking.pid == pid
    assert _descriptors("self") == before[0]
    assert eventually(lambda: _descriptors(pid) == before[1])
    assert eventually(lambda: len(_children(pid)) == 1)  # the spare, which waits for its task
    assert _megabytes("self") < before[2] + 5
    assert _megabytes(pid) < before[3] + 5


def test_a_dead_server_is_replaced(forking: Sandbox) -> None:
    pid = _pid(forking)
    os.kill(pid, signal.SIGKILL)
    assert forking.call("double", [3]) == [6]
    assert forking.pid != pid


def test_a_job_is_repeated_if_its_server_dies(forking: Sandbox) -> None:
    pid = _pid(forking)
    killer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
    killer.start()
    assert forking.call("sleep", 1, timeout=30) > 0
    killer.join()
    assert forking.pid != pid


def test_a_job_with_progress_is_not_repeated(forking: Sandbox) -> None:
    pid = _pid(forking)
    children: list[int] = []

    def kill(child: int) -> None:
        children.append(child)
        os.kill(pid, signal.SIGKILL)

    with pytest.raises(ProgramRefused, match="ended unexpectedly"):
        forking.call("hold", None, timeout=30, on_progress=kill)
    assert len(children) == 1
    assert eventually(lambda: gone(children[0]))
    assert forking.call("double", [3]) == [6]


def test_a_stopped_server_is_replaced(forking: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = _pid(forking)
    monkeypatch.setattr(limits, "REPLY_SECONDS", 1.0)
    os.kill(pid, signal.SIGSTOP)
    assert forking.call("double", [3]) == [6]
    assert eventually(lambda: gone(pid))


@pytest.mark.parametrize("header", [b"\xff" * 64, b"{}", b"[1]", b'{"token": "guess"}'])
def test_an_unknown_client_is_disconnected(forking: Sandbox, header: bytes) -> None:
    pid = _pid(forking)
    assert forking._server is not None
    with forking._server.connect() as connection:
        connection.sendall(wire.make_frame(wire.HEADER, header))
        assert wire.receive_frame(connection) is None
    assert forking.call("double", [3]) == [6]
    assert forking.pid == pid


@pytest.mark.parametrize(
    ("kind", "size"), [(wire.HEADER, 2**13), (wire.REQUEST, 2), (wire.DATA, 9)]
)
def test_an_unknown_client_gets_no_memory(forking: Sandbox, kind: int, size: int) -> None:
    """The first bytes of its frame end the connection; the body that they announce never comes."""
    pid = _pid(forking)
    assert forking._server is not None
    with forking._server.connect() as connection:
        connection.settimeout(10)
        connection.sendall(size.to_bytes(4, "big") + bytes([kind]))
        assert wire.receive_frame(connection) is None
    assert forking.pid == pid


#: Invalid fields of a header.
INVALID_FIELDS = {
    "no job": {"job": None},
    "a job that is a list": {"job": []},
    "a job nobody knows": {"job": "nothing"},
    "no time": {"timeout": None},
    "a word for the time": {"timeout": "soon"},
    "a time without end": {"timeout": float("inf")},
    "a time that is no number": {"timeout": float("nan")},
    "a time too long for the clock": {"timeout": 1e300},
    "a time before now": {"timeout": -1},
    "a time too long for a number": {"timeout": 10**400},
    "a list for the time": {"timeout": [1]},
    "no reader": {"reader": None},
    "a reader that is a list": {"reader": []},
    "a reader that is a dictionary": {"reader": {}},
    "no limits": {"limits": None},
    "limits of other things": {"limits": {"bytes": "1"}},
    "a worker nobody started": {"worker": "w"},
    "a worker that is a list": {"worker": []},
}


@pytest.mark.fast
def test_the_server_imports_no_large_library() -> None:
    """What it had in memory would be shared with the zygote, whose huge pages copy it."""
    code = "import sys, explorer.sandbox.__main__ as _; print(*sys.modules)"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "explorer.sandbox.server" in imported.stdout.split()
    assert not {"torch", "numpy", "matplotlib"} & set(imported.stdout.split())


@pytest.mark.parametrize(
    ("kind", "case"),
    sample(
        [("forking", case) for case in INVALID_FIELDS]
        + [("portable", case) for case in INVALID_FIELDS if "worker" in case],
        every=5,
    ),
)
def test_an_invalid_header_does_no_harm(
    kind: str, case: str, request: pytest.FixtureRequest
) -> None:
    """Its token is right, so the app sent it, or a program that has read the app's memory."""
    sandbox: Sandbox = request.getfixturevalue(kind)
    pid = _pid(sandbox)
    assert sandbox._server is not None
    header = {"token": sandbox._server.options.token, "job": "double", "timeout": 5, "reader": "x"}
    header["limits"] = asdict(limits_of("double"))
    with sandbox._server.connect() as connection:
        body = wire.dump(header | INVALID_FIELDS[case])
        frame = wire.make_frame(wire.REQUEST, b"[1]")
        connection.sendall(wire.make_frame(wire.HEADER, body) + frame)
        while wire.receive_frame(connection) is not None:
            pass
    assert sandbox.call("double", [3]) == [6]
    assert sandbox.pid == pid


APP = """
import sys, time
import tests.sandbox
from explorer.sandbox import Sandbox
from tests.sandbox.conftest import OPTIONS
sandbox = Sandbox(**OPTIONS | {"fork": sys.argv[1] == "forking"})
sandbox.call("double", [1])
def report(child):
    print(sandbox.pid, child, sandbox._server.options.directory, flush=True)
sandbox.call("hold", None, timeout=60, on_progress=report)
"""


@pytest.mark.parametrize("kind", ["forking", thorough("portable")])
def test_it_ends_with_the_app(kind: str) -> None:
    app = subprocess.Popen(
        [sys.executable, "-c", APP, kind],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert app.stdout is not None
    server, child, directory = app.stdout.readline().split()
    app.kill()
    app.wait()
    app.stdout.close()
    assert eventually(lambda: gone(int(server)) and gone(int(child)))
    assert eventually(lambda: not Path(directory).exists())


def test_a_registry_that_cannot_be_imported_gives_an_error_message() -> None:
    sandbox = Sandbox(jobs="tests.sandbox.no_such_module")
    with pytest.raises(ProgramRefused, match="could not be started"):
        sandbox.call("double", [1])
    sandbox.stop()
