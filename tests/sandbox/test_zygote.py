"""A child's memory contains its own request and no other."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox
from tests.marks import thorough
from tests.sandbox.conftest import OPTIONS
from tests.sandbox.test_calls import eventually, gone
from tests.sandbox.test_server_life import _pid, _zygote

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def memory(pid: int) -> Iterator[bytes]:
    """The writable memory of a process, piece by piece, but for what it gives back meanwhile."""
    maps = Path(f"/proc/{pid}/maps")
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        for line in maps.read_text().splitlines():
            addresses, mode, *_ = line.split()
            start, end = (int(number, 16) for number in addresses.split("-"))
            if "w" in mode:
                file.seek(start)
                try:
                    yield file.read(end - start)
                except OSError:
                    assert line not in maps.read_text().splitlines()


def holds(pid: int, *secrets: str) -> list[bool]:
    present = [False] * len(secrets)
    for piece in memory(pid):
        present = [was or s.encode() in piece for was, s in zip(present, secrets, strict=True)]
    return present


class Examined(Exception):
    """The child has been looked at: it is no longer needed."""


def test_a_child_contains_only_its_own_request(forking: Sandbox) -> None:
    pid = _pid(forking)
    theirs, own = "a-strangers-program-" + os.urandom(8).hex(), "my-program-" + os.urandom(8).hex()
    forking.call("length", {"image": theirs})  # it ends before the child is forked
    present: list[list[bool]] = []
    running: list[int] = []

    def look(child: int) -> None:
        token = forking._server.options.token  # type: ignore[union-attr]
        present.append(holds(child, own, theirs, token))
        present.append(holds(_zygote(pid), own, theirs, token))
        present.append(holds(pid, own, theirs, token))
        raise Examined

    # They run while the child is examined; all but two of a reader's jobs wait.
    options: Any = {"timeout": 90, "reader": "a", "on_progress": running.append}
    others = [forking.submit("hold", theirs, **options) for _ in range(3)]
    try:
        assert eventually(lambda: not any(o.wait(0.01) for o in others) and bool(running), 60.0)
        with pytest.raises(Examined):
            forking.call("hold", own, timeout=90, reader="b", on_progress=look)
    finally:
        for other in others:
            other.cancel()
    assert present == [[True, False, False], [False, False, False], [True, True, True]]


@pytest.mark.parametrize("fork", [True, thorough(False)])
def test_a_child_contains_nothing_of_the_app_or_an_earlier_job(
    fork: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, earlier, own = (f"{word}-{os.urandom(8).hex()}" for word in ("secret", "theirs", "own"))
    monkeypatch.setenv("DATABASE_PASSWORD", secret)
    box = Sandbox(**OPTIONS | {"processes": 1, "fork": fork})
    present: list[bool] = []

    def look(child: int) -> None:
        assert box._server is not None
        present.extend(holds(child, own, earlier, secret, box._server.options.token))
        raise Examined

    try:
        box.call("length", {"image": earlier}, reader="a")
        with pytest.raises(Examined):
            box.call("hold", own, timeout=90, reader="b", on_progress=look)
    finally:
        box.stop()
    assert present == [True, False, False, False]


def test_a_zygote_that_dies_is_replaced(forking: Sandbox) -> None:
    pid = _pid(forking)
    os.kill(_zygote(pid), signal.SIGKILL)
    assert forking.call("double", [3]) == [6]
    assert forking.pid != pid
    assert eventually(lambda: gone(pid))


def test_the_children_of_a_dead_zygote_end(forking: Sandbox) -> None:
    zygote = _zygote(_pid(forking))
    children: list[int] = []

    def kill(child: int) -> None:
        children.append(child)
        os.kill(zygote, signal.SIGKILL)

    with pytest.raises(ProgramRefused, match="ended unexpectedly"):
        forking.call("hold", None, timeout=30, on_progress=kill)
    assert eventually(lambda: gone(children[0]))
    assert forking.call("double", [3]) == [6]
