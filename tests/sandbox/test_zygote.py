"""What lies in a child's memory is its own job and no other's."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from explorer.language import ProgramRefused
from explorer.sandbox import Sandbox
from tests.sandbox.test_calls import eventually, gone
from tests.sandbox.test_life import _pid, _zygote

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def memory(pid: int) -> Iterator[bytes]:
    """What a process could write to, piece by piece: all that is not somebody's file."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            where, mode, *_ = line.split()
            start, end = (int(number, 16) for number in where.split("-"))
            if "w" in mode:
                file.seek(start)
                yield file.read(end - start)


def holds(pid: int, *secrets: str) -> list[bool]:
    found = [False] * len(secrets)
    for piece in memory(pid):
        found = [was or s.encode() in piece for was, s in zip(found, secrets, strict=True)]
    return found


def test_a_child_holds_no_request_but_its_own(forking: Sandbox) -> None:
    pid = _pid(forking)
    theirs, own = "a-strangers-program-" + os.urandom(8).hex(), "my-program-" + os.urandom(8).hex()
    forking.call("length", {"image": theirs})  # over when the child is made
    seen: list[list[bool]] = []
    running = threading.Event()

    def hold() -> None:
        """Run beside the child that is looked at; all but two jobs of a reader wait."""
        with pytest.raises(ProgramRefused):
            forking.call("hold", theirs, timeout=3, reader="a", on_progress=lambda _: running.set())

    def look(child: int) -> None:
        token = forking._server.settings.token  # type: ignore[union-attr]
        seen.append(holds(child, own, theirs, token))
        seen.append(holds(_zygote(pid), own, theirs, token))
        seen.append(holds(pid, own, theirs, token))

    with ThreadPoolExecutor(3) as pool:
        others = [pool.submit(hold) for _ in range(3)]
        assert running.wait(10)
        with pytest.raises(ProgramRefused):
            forking.call("hold", own, timeout=3, reader="b", on_progress=look)
        for other in others:
            other.result()
    assert seen == [[True, False, False], [False, False, False], [True, True, True]]


def test_a_zygote_that_dies_is_replaced(forking: Sandbox) -> None:
    pid = _pid(forking)
    os.kill(_zygote(pid), signal.SIGKILL)
    assert forking.call("double", [3]) == [6]
    assert forking.pid != pid
    assert eventually(lambda: gone(pid))


def test_a_zygote_that_dies_takes_its_children_along(forking: Sandbox) -> None:
    zygote = _zygote(_pid(forking))
    children: list[int] = []

    def kill(child: int) -> None:
        children.append(child)
        os.kill(zygote, signal.SIGKILL)

    with pytest.raises(ProgramRefused, match="ended unexpectedly"):
        forking.call("hold", None, timeout=30, on_progress=kill)
    assert eventually(lambda: gone(children[0]))
    assert forking.call("double", [3]) == [6]
