"""Files on their way to a child and back: raw frames, and never more bytes than allowed."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox
from explorer.sandbox.wire import CHUNK

MEGABYTES = 40


def made(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


@pytest.mark.fast
@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7])
def test_a_file_comes_back_as_it_was(forking: Sandbox, size: int) -> None:
    data = made(size)
    answer = forking.call("echo", 1, data=data, returns=max(size, 1))
    assert answer == (size, data)


@pytest.mark.thorough
def test_a_large_file_takes_a_moment(forking: Sandbox) -> None:
    data = made(MEGABYTES * 2**20)
    forking.call("double", 1)
    start = time.monotonic()
    answer = forking.call("echo", 1, data=data, returns=len(data), timeout=20)
    assert time.monotonic() - start < 10
    assert hashlib.sha256(answer.data).digest() == hashlib.sha256(data).digest()


@pytest.mark.parametrize("times", [2, 40])
def test_more_than_allowed_is_refused(forking: Sandbox, times: int) -> None:
    data = made(2 * CHUNK)
    with pytest.raises(ProgramRefused, match="could not be read"):
        forking.call("echo", times, data=data, returns=len(data))
    assert forking.call("double", 2) == 4


def test_nothing_is_taken_that_was_not_asked_for(forking: Sandbox) -> None:
    with pytest.raises(ProgramRefused, match="could not be read"):
        forking.call("echo", 1, data=b"abc")


def test_the_app_counts_for_itself(forking: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the server let more pass."""
    call = forking.submit("echo", 3, data=made(CHUNK), returns=3 * CHUNK)
    call._allowed = replace(call._allowed, data=2 * CHUNK)
    with pytest.raises(ProgramRefused, match="could not be read"):
        call.result()


def test_a_job_that_ends_early_says_why(forking: Sandbox) -> None:
    with pytest.raises(ProgramRefused, match="No file wanted"):
        forking.call("ignore", None, data=made(8 * CHUNK))


def test_a_cancelled_transfer_leaves_the_server_as_it_was(forking: Sandbox) -> None:
    for _ in range(3):
        call = forking.submit("echo", 1, data=made(8 * CHUNK), returns=8 * CHUNK)
        call.wait(0.05)
        call.cancel()
    assert forking.call("double", 3) == 6


def test_a_file_is_held_by_nobody_afterwards(forking: Sandbox) -> None:
    """The server passes it on in parts: it does not grow by the file's size."""
    assert forking.pid is not None
    status = Path(f"/proc/{forking.pid}/status")
    forking.call("echo", 0, data=made(MEGABYTES * 2**20), timeout=20)
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    before = int(line.split()[1])
    forking.call("echo", 1, data=made(3 * CHUNK), returns=3 * CHUNK)
    forking.call("echo", 1, data=made(MEGABYTES * 2**20), returns=MEGABYTES * 2**20, timeout=20)
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    assert (int(line.split()[1]) - before) / 1024 < MEGABYTES / 2
