"""What the kernel reports of processes, and what a reader is told of it."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from explorer.sandbox import exit_reasons, kernel, wire
from explorer.sandbox import server as servers
from explorer.sandbox.messages import ChildExit, Task, limits_of
from explorer.sandbox.server import Request, RunningRequest, Server
from tests.sandbox.test_calls import eventually
from tests.sandbox.test_full_queue import NoScratch

pytestmark = pytest.mark.fast


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_stopped_process_is_seen() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert not kernel.is_halted(process.pid)
        os.kill(process.pid, signal.SIGSTOP)
        assert eventually(lambda: kernel.is_halted(process.pid))
        os.kill(process.pid, signal.SIGCONT)
        assert eventually(lambda: not kernel.is_halted(process.pid))
    finally:
        process.kill()
        process.communicate()
    assert not kernel.is_halted(process.pid)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kernel, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(kernel, "_CGROUPS", tmp_path / "cgroup")
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text("1:cpu:/old\n0::/app/one\n")
    return tmp_path


def test_the_own_group_counts_before_the_machine(folder: Path) -> None:
    assert kernel.oom_kills() == 0
    (folder / "proc" / "vmstat").write_text("pgfault 7\noom_kill 3\n")
    assert kernel.oom_kills() == 3
    group = folder / "cgroup" / "app" / "one"
    group.mkdir(parents=True)
    (group / "memory.events").write_text("low 0\noom 9\noom_kill 5\noom_group_kill 0\n")
    assert kernel.oom_kills() == 5


class KilledPool:
    """A pool whose children are killed."""

    processors = 1

    def release(self, child: Any) -> ChildExit:
        return ChildExit(-9, 4)


class Connected:
    """A reader's, or a child's, connection."""

    broken = False
    process = SimpleNamespace(pid=1)
    connection: Any

    def __init__(self) -> None:
        self.connection, self.sent = self, bytearray()

    def send(self, data: bytes) -> None:
        self.sent += data

    def finish(self) -> None:
        pass


@pytest.mark.parametrize(("counted", "words"), [(1, "ran out of memory"), (0, "A signal ended")])
def test_memory_is_named_if_the_kernel_counted_it(
    counted: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = socket.socketpair()
    with selectors.DefaultSelector() as selector, socket.socket() as listener, near, far:
        pool: Any = KilledPool()
        scratch: Any = NoScratch()
        served = Server(selector, listener, near, "token", pool, 2.0, scratch)
        reader: Any = Connected()
        request = Request(reader, "a", Task("run", b"", 1.0), limits_of("run"))
        running = RunningRequest(request, Connected(), 0.0, oom_kills=2)  # type: ignore[arg-type]
        served._running.append(running)
        monkeypatch.setattr(servers, "oom_kills", lambda: 2 + counted)
        served._child_ended(running)
    assert reader.sent[4] == wire.FAILED
    message = wire.load(reader.sent[5:])
    explain = exit_reasons.explain_exit if "status" in message else exit_reasons.explain
    error = explain(**message)
    assert words in error.message
    assert error.line == 4
