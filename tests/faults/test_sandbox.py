"""The sandbox under faults of the machine: each gives the reader an error message, the next run
works, and no process, descriptor or file is left.

tests/sandbox/test_exit_reasons.py has the ways a child can end by itself, test_server_life.py a
server that is killed or stopped, test_protocol.py frames split anywhere. Here are external faults.
"""

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from explorer import limits, sandbox
from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox, wire
from explorer.sandbox.kernel import is_halted
from explorer.sandbox.messages import limits_of
from explorer.sandbox.options import ServerOptions
from tests.sandbox.test_calls import eventually, gone
from tests.sandbox.test_server_life import _children, _descriptors, _settle, _zygote

pytestmark = pytest.mark.skipif(not ServerOptions.fork, reason="needs Linux")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder in which this module's servers keep their files."""
    path, before = tmp_path_factory.mktemp("files"), tempfile.tempdir
    tempfile.tempdir = str(path)
    yield path
    tempfile.tempdir = before


@pytest.fixture(scope="module")
def lasting(folder: Path) -> Iterator[Sandbox]:
    new_box = Sandbox(jobs="tests.sandbox.jobs", warm_up=False, bubblewrap=False, processes=2)
    yield new_box
    new_box.stop()
    assert os.listdir(folder) == []


@pytest.fixture
def box(lasting: Sandbox, folder: Path) -> Iterator[Sandbox]:
    """An idle sandbox, which has to be idle again after the test."""
    assert lasting.call("double", [1], timeout=30) == [2]
    assert is_idle(lasting)
    before = _descriptors("self")
    yield lasting
    assert lasting.call("double", [3], timeout=30) == [6]
    assert is_idle(lasting)
    assert eventually(lambda: _descriptors("self") == before)
    assert len(os.listdir(folder)) == 1


def is_idle(box: Sandbox) -> bool:
    """Whether, soon, the only child is the spare, which waits for its task."""
    return eventually(lambda: len(_children(box.pid or 0)) == 1)


def kill_the_spare(box: Sandbox) -> None:
    """Kill the spare child; another is forked after the next job."""
    (spare,) = _children(box.pid or 0)
    os.kill(int(spare), signal.SIGKILL)
    assert eventually(lambda: spare not in _children(box.pid or 0))


@pytest.fixture
def idle_descriptors(box: Sandbox) -> int:
    _settle(box)
    return _descriptors(box.pid or 0)


def error_message(call: Callable[[], Any]) -> str:
    with pytest.raises(ProgramRefused) as caught:
        call()
    assert caught.value.error.hint
    return caught.value.error.message


def during(box: Sandbox, fault: Callable[[int], Any], timeout: float = 30) -> str:
    """The error message if `fault(child)` happens while a program runs."""
    return error_message(lambda: box.call("hold", None, timeout=timeout, on_progress=fault))


# --- the child ---


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGKILL, "A signal ended"),  # memory is named only if the kernel counted it
        (signal.SIGTERM, "without a result"),
        (signal.SIGBUS, "crashed"),
        (signal.SIGSTOP, "A signal ended"),  # it would neither answer nor get a timer signal
    ],
)
def test_a_child_receives_a_signal(box: Sandbox, number: int, words: str) -> None:
    assert words in during(box, lambda child: os.kill(child, number), timeout=10)


def test_the_spare_child_is_stopped(box: Sandbox) -> None:
    """The next task would have waited for it to the end of its time limit."""
    pid, (spare,) = box.pid, _children(box.pid or 0)
    os.kill(int(spare), signal.SIGSTOP)
    assert eventually(lambda: is_halted(int(spare)))
    assert box.call("double", [1], timeout=30) == [2]
    assert eventually(lambda: gone(int(spare)))
    assert box.pid == pid


def test_a_child_sends_invalid_bytes(box: Sandbox) -> None:
    assert "could not be read" in error_message(lambda: box.call("garbage", None, timeout=5))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_spare_child_receives_a_signal(box: Sandbox, number: int) -> None:
    pid, (spare,) = box.pid, _children(box.pid or 0)
    os.kill(int(spare), number)
    assert eventually(lambda: gone(int(spare)))
    assert box.call("double", [1]) == [2]
    assert box.pid == pid


def test_a_spare_that_ends_is_not_replaced_again_and_again(box: Sandbox) -> None:
    kill_the_spare(box)
    time.sleep(0.2)
    assert _children(box.pid or 0) == []


def test_the_empty_directory_is_removed(box: Sandbox) -> None:
    """As a cleaner of temporary files does after some days."""
    server = box._server
    assert server is not None
    os.rmdir(server.options.empty_directory)
    for number in range(3):
        assert box.call("double", [number]) == [2 * number]
    assert box._server is server


def test_a_machine_without_memory(box: Sandbox) -> None:
    pid = _zygote(box.pid or 0)
    before = resource.prlimit(pid, resource.RLIMIT_AS)
    size = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
    resource.prlimit(pid, resource.RLIMIT_AS, (size + 2**24, before[1]))
    try:
        kill_the_spare(box)
        assert "more memory" in error_message(lambda: box.call("memory", None, timeout=30))
    finally:
        resource.prlimit(pid, resource.RLIMIT_AS, before)


# --- the server ---


def test_a_server_that_hangs_during_a_program(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ANSWER_DELAY", 0.2)
    monkeypatch.setattr(limits, "REPLY_SECONDS", 1.0)
    pid, children = box.pid or 0, []

    def stop(child: int) -> None:
        children.append(child)
        os.kill(pid, signal.SIGSTOP)

    assert "more than 0.5 s" in during(box, stop, timeout=0.5)
    assert box.call("double", [1]) == [2]  # by another server
    assert eventually(lambda: gone(pid) and gone(children[0]))


def test_the_pipe_to_the_server_is_closed(box: Sandbox) -> None:
    server, children = box._server, []
    assert server is not None
    assert server.process.stdin is not None

    def close(child: int) -> None:
        children.append(child)
        server.process.stdin.close()  # type: ignore[union-attr]

    assert "ended unexpectedly" in during(box, close)
    assert eventually(lambda: gone(children[0]))
    assert not Path(server.options.directory).exists()


def test_more_connections_than_the_backlog(box: Sandbox) -> None:
    """More connections than the system queues for a server that is busy for a moment."""
    pid, server = box.pid or 0, box._server
    assert server is not None
    address = server.options.address.read_text()
    clients: list[socket.socket] = []
    os.kill(pid, signal.SIGSTOP)
    try:
        with contextlib.suppress(BlockingIOError):
            while len(clients) < 2000:
                clients.append(socket.socket(socket.AF_UNIX))
                clients[-1].setblocking(False)
                clients[-1].connect(address)
        assert len(clients) < 2000
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(box.call, "double", [1])
            time.sleep(0.3)
            os.kill(pid, signal.SIGCONT)
            assert answer.result() == [2]
    finally:
        os.kill(pid, signal.SIGCONT)
        for client_socket in clients:
            client_socket.close()
    assert box.pid == pid


# --- no room: disk, processes, descriptors ---


def test_a_disk_without_room_for_the_server(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = tmp_path / "full"
    full.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=2", "none", str(full)]
    if os.getuid() or subprocess.run(mount, capture_output=True).returncode:
        full = tmp_path / "missing"  # where no disk can be mounted, a missing one
    monkeypatch.setattr(tempfile, "tempdir", str(full))
    new_box = Sandbox(jobs="tests.sandbox.jobs", warm_up=False, bubblewrap=False)
    try:
        new_box.start()  # as the app does when it starts: this must not fail
        assert "could not be started" in error_message(lambda: new_box.call("double", [1]))
        error = sandbox.run("x = 1", sandbox=new_box).error
        assert error is not None
        assert "could not be started" in error.message
        assert not full.exists() or os.listdir(full) == []
        monkeypatch.setattr(tempfile, "tempdir", str(folder))  # room again
        assert new_box.call("double", [1]) == [2]
    finally:
        new_box.stop()
        subprocess.run(["umount", str(full)], capture_output=True)


@pytest.mark.thorough
def test_a_disk_without_room_for_what_the_server_writes(folder: Path) -> None:
    before = set(os.listdir(folder))
    new_box = Sandbox(jobs="tests.sandbox.jobs", warm_up=False, bubblewrap=False)
    new_box.start()
    resource.prlimit(new_box.pid or 0, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        assert new_box.call("double", [1], timeout=30) == [2]  # the second server is asked
        new_box.stop()
    finally:
        new_box.stop()
    assert set(os.listdir(folder)) == before


def test_no_process_to_be_had(folder: Path) -> None:
    new_box = Sandbox(jobs="tests.faults.no_process", warm_up=False, bubblewrap=False)
    try:
        assert new_box.call("double", [1], timeout=30) == [2]
        assert is_idle(new_box)
        pid = new_box.pid or 0
        os.kill(_zygote(pid), signal.SIGUSR1)
        kill_the_spare(new_box)
        for _ in range(3):
            assert "could not be started" in error_message(lambda: new_box.call("double", [1]))
        os.kill(_zygote(pid), signal.SIGUSR1)
        assert new_box.call("double", [1]) == [2]
        assert new_box.pid == pid
        assert is_idle(new_box)
    finally:
        new_box.stop()


def test_no_process_for_the_server(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    new_box = Sandbox(jobs="tests.sandbox.jobs", warm_up=False, bubblewrap=False)
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", refused)
        assert "could not be started" in error_message(lambda: new_box.call("double", [1]))
    new_box.stop()


def test_a_server_without_descriptors(
    box: Sandbox, idle_descriptors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = box.pid or 0
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    # Enough for the reader's connection, but not for the child's.
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (idle_descriptors, before[1]))
    try:
        kill_the_spare(box)
        assert "could not be started" in error_message(lambda: box.call("double", [1]))
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    assert box.call("double", [1]) == [2]
    assert box.pid == pid
    assert eventually(lambda: _descriptors(pid) == idle_descriptors)


def test_an_app_without_descriptors(box: Sandbox) -> None:
    """The cause is the app itself: the server, which runs others' programs, continues."""
    pid, taken = box.pid, []
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_descriptors("self") + 8, before[1]))
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        message = error_message(lambda: box.call("double", [1]))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in taken:
            os.close(descriptor)
    assert "Too many programs" in message
    assert box.pid == pid


# --- the connection, broken by the reader ---


def header(box: Sandbox) -> dict[str, Any]:
    assert box._server is not None
    fields = {"token": box._server.options.token, "job": "double", "timeout": 5, "reader": "raw"}
    return fields | {"live": False, "limits": asdict(limits_of("large"))}


REQUEST = wire.make_frame(wire.REQUEST, b"[1]")

#: What is sent before the connection is closed, made from a valid header frame.
CUT: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda header: b"",
    "half a prefix": lambda header: header[:3],
    "half a header": lambda header: header[:-9],
    "no request": lambda header: header,
    "half a request": lambda header: header + REQUEST[:-1],
    "garbage": lambda header: b"GET / HTTP/1.1\r\n\r\n",
    "garbage after the header": lambda header: header + b"\xff" * 4096,
    "a huge length": lambda header: b"\xff\xff\xff\xffH",
    "the request first": lambda header: REQUEST + header,
    "a wrong token": lambda header: header.replace(b'"token": "', b'"token": "x'),
    "twice": lambda header: header + REQUEST + header + REQUEST,
    "a request without waiting": lambda header: header + REQUEST,
}


@pytest.mark.parametrize("cut", CUT)
def test_a_reader_whose_connection_breaks(box: Sandbox, idle_descriptors: int, cut: str) -> None:
    pid, server = box.pid or 0, box._server
    assert server is not None
    body = wire.dump(header(box))
    frame = wire.make_frame(wire.HEADER, body)
    if cut == "a wrong token":
        frame = wire.make_frame(wire.HEADER, CUT[cut](body))
    for _ in range(3):
        with server.connect() as connection:
            connection.sendall(frame if cut == "a wrong token" else CUT[cut](frame))
    assert box.call("double", [2]) == [4]
    assert box.pid == pid
    assert eventually(lambda: _descriptors(pid) == idle_descriptors)


def test_a_slow_reader_delays_nobody(box: Sandbox) -> None:
    server = box._server
    assert server is not None
    with server.connect() as slow:
        body = wire.dump(header(box) | {"job": "large", "timeout": 20})
        slow.sendall(wire.make_frame(wire.HEADER, body) + wire.make_frame(wire.REQUEST, b"8000000"))
        time.sleep(0.3)
        for number in range(5):
            assert box.call("double", [number], timeout=30) == [2 * number]
            slow.recv(1, socket.MSG_PEEK)
        kinds = []
        while (frame := wire.receive_frame(slow)) is not None:
            kinds.append(frame[0])
            body = frame[1]
    assert kinds[-1] == wire.ANSWER
    assert wire.load(body) == "a" * 8_000_000


# --- the connection, broken by the server ---

ANSWER = wire.make_frame(wire.ANSWER, b"[2]")
#: What the server sends before it closes -> part of the error message.
SERVERS = {
    "nothing": (b"", "could not be started"),
    "half a prefix": (ANSWER[:3], "could not be started"),
    "half an answer": (
        wire.make_frame(wire.STARTED) + ANSWER[:-1],
        "could not be started|more than 0.1 s",
    ),
    "progress and half an answer": (
        wire.make_frame(wire.PROGRESS, b"1") + ANSWER[:-1],
        "ended unexpectedly",
    ),
    "garbage": (b"\xff" * 64, "could not be read"),
    "invalid JSON": (wire.make_frame(wire.ANSWER, b"[2"), "could not be read"),
    "an invalid error": (wire.make_frame(wire.ERROR, b"[2]"), "could not be read"),
    "an error with invalid fields": (wire.make_frame(wire.ERROR, b'{"message": {}}'), ""),
}


class Scripted:
    """A server that sends these bytes, then closes the connection or keeps it open."""

    def __init__(self, data: bytes, silent: bool) -> None:
        self.data, self.silent, self.open = data, silent, []  # type: ignore[var-annotated]
        self.options = ServerOptions(processes=1, directory="", token="token")

    def connect(self) -> socket.socket:
        near, far = socket.socketpair()
        far.sendall(self.data)
        if self.silent:
            self.open.append(far)
        else:
            far.shutdown(socket.SHUT_WR)
            threading.Thread(target=self._drain, args=[far]).start()
        return near

    def listens(self) -> bool:
        return True

    def _drain(self, far: socket.socket) -> None:
        with far, contextlib.suppress(ConnectionError):
            while far.recv(2**16):
                pass

    def end(self) -> None:
        for far in self.open:
            far.close()


@pytest.mark.parametrize("silent", [False, True], ids=["closes", "stays open"])
@pytest.mark.parametrize("case", SERVERS)
def test_a_server_that_stops_early(
    monkeypatch: pytest.MonkeyPatch, case: str, silent: bool
) -> None:
    monkeypatch.setattr(limits, "REPLY_SECONDS", 0.1)
    monkeypatch.setattr(limits, "ANSWER_DELAY", 0.1)
    data, words = SERVERS[case]
    new_box, server = Sandbox(), Scripted(data, silent)
    monkeypatch.setattr(new_box, "server", lambda: server)
    assert re.search(words, message_of(new_box))
    server.end()


def message_of(box: Sandbox) -> str:
    with pytest.raises(ProgramRefused) as caught:
        box.call("double", [1], timeout=0.1)
    return caught.value.error.message


# --- time ---


def test_no_limit_depends_on_the_time_of_day() -> None:
    """Setting the clock ends no program and keeps none alive: the project never reads it."""
    root = Path(sandbox.__file__).parents[1]
    for file in root.rglob("*.py"):
        assert not re.search(r"time\.time|datetime", file.read_text()), file
