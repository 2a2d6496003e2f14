"""Whom the app serves where the kernel's walls are missing, and what the self-test tells."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from explorer import sandbox
from explorer.program import ProgramError, ProgramRefused
from explorer.sandbox import Sandbox, SelfTestFailure, find_failure, walls
from explorer.sandbox.exit_reasons import explain
from explorer.ui.server import startup

HOME = str(Path(__file__).parents[3] / "app.py")

#: Address of the connection (None from 127.0.0.1 and ::1), headers, whether it is a local reader.
READERS: list[tuple[str | None, dict[str, str], bool]] = [
    (None, {"Host": "localhost:8501"}, True),
    (None, {"Host": "127.0.0.1:8501"}, True),
    (None, {"Host": "[::1]:8501"}, True),
    (None, {}, True),
    ("127.0.0.2", {"Host": "localhost"}, True),
    ("::ffff:127.0.0.1", {"Host": "localhost"}, True),
    ("192.168.1.7", {"Host": "localhost:8501"}, False),
    ("2001:db8::1", {"Host": "localhost:8501"}, False),
    (None, {"Host": "autograd.example.org"}, False),
    (None, {"Host": "127.0.0.1.example.org"}, False),
    (None, {"Host": "localhost", "X-Forwarded-For": "203.0.113.5"}, False),
    (None, {"Host": "localhost", "X-Real-Ip": "203.0.113.5"}, False),
    (None, {"Host": "localhost", "Forwarded": "for=203.0.113.5"}, False),
]


@pytest.fixture
def no_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without one part of the walls."""
    mechanisms = (("Landlock", lambda: False, None), ("seccomp", lambda: True, None))
    monkeypatch.setattr(walls, "_MECHANISMS", mechanisms)


def _reader(monkeypatch: pytest.MonkeyPatch, address: str | None, headers: dict[str, str]) -> None:
    context = SimpleNamespace(ip_address=address, headers=headers)
    monkeypatch.setattr(st, "context", context)


@pytest.mark.parametrize(("address", "headers", "local"), READERS)
def test_without_walls_only_local_readers_are_served(
    address: str | None,
    headers: dict[str, str],
    local: bool,
    monkeypatch: pytest.MonkeyPatch,
    no_landlock: None,
) -> None:
    _reader(monkeypatch, address, headers)
    assert (startup.refusal() == "") == local


def test_with_walls_everyone_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    if sandbox.missing():
        pytest.skip("this system lacks a part of the walls")
    _reader(monkeypatch, "203.0.113.5", {"Host": "autograd.example.org"})
    assert startup.refusal() == ""


def test_who_is_refused_sees_one_sentence_and_no_page(
    monkeypatch: pytest.MonkeyPatch, no_landlock: None
) -> None:
    monkeypatch.setattr(startup, "reader_is_local", lambda: False)
    at = AppTest.from_file(HOME, default_timeout=60).run()
    assert not at.exception
    (error,) = at.error
    assert "Landlock" in error.value
    assert len(at.main.children) == 1


@pytest.mark.thorough
def test_the_self_test_finds_nothing_here() -> None:
    assert find_failure(sandbox.call) is None


def test_a_failure_is_named_in_the_log_and_on_the_home_page(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(startup, "SELF_TEST_DELAY", 0)
    monkeypatch.setattr(startup, "_self_test_failure", None)
    monkeypatch.setattr(sandbox, "find_failure", lambda call: SelfTestFailure("threads", "gone"))
    assert startup.warning_for_operator() == ""
    startup._test_walls()
    assert "failed at “threads”: gone" in caplog.text
    assert "EXPLORER_WALLS=wide" in caplog.text
    at = AppTest.from_file(HOME, default_timeout=60).run()
    (warning,) = at.warning
    assert "threads" in warning.value
    assert "EXPLORER_WALLS=wide" in warning.value


def test_no_server_is_no_end_of_the_thread(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_server(call: object) -> None:
        raise OSError("cannot allocate memory")

    monkeypatch.setattr(startup, "SELF_TEST_DELAY", 0)
    monkeypatch.setattr(startup, "_self_test_failure", None)
    monkeypatch.setattr(sandbox, "find_failure", no_server)
    startup._test_walls()
    assert "cannot allocate memory" in caplog.text
    assert startup.warning_for_operator() == ""


@pytest.mark.thorough
def test_a_part_that_fails_is_found() -> None:
    """The child of these jobs cannot start threads; it is ended by the library that needs them."""
    box = Sandbox(jobs="tests.ui.server.no_threads", warm_up=False, processes=1)
    try:
        failure = find_failure(box.call)
    finally:
        box.stop()
    assert failure is not None
    assert failure.part == "threads"


@pytest.mark.parametrize("error", [explain("queue_full"), explain("out_of_time", timeout=120.0)])
def test_a_busy_server_is_no_failure(error: ProgramError) -> None:
    def call(*arguments: Any, **options: Any) -> Any:
        raise ProgramRefused(error)

    assert find_failure(call) is None


@pytest.mark.fast
def test_small_messages_are_sent_at_once() -> None:
    """As Streamlit makes its socket; what it accepts inherits the option."""
    with socket.socket(socket.AF_INET) as listening, socket.socket(socket.AF_INET) as client:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        startup.send_small_messages_at_once()
        client.connect(listening.getsockname())
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
