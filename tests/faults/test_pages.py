"""The sandbox dies while a page uses it: an error message, nothing lost, the next press works."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from explorer.sandbox import client, wire
from explorer.sandbox.client import app_sandbox
from explorer.sandbox.options import ServerOptions
from explorer.ui.server import sandbox_call
from tests.pages.test_feature_maps import drawn_file, upload
from tests.pages.test_optimizer import error, page, press
from tests.pages.test_pages import html_of, opened, rows, run_program

pytestmark = pytest.mark.skipif(not ServerOptions.fork, reason="needs Linux")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages wait for their jobs: no browser would ask for them again."""
    monkeypatch.setattr(sandbox_call, "WAIT", 60.0)


LOST = "The process that runs programs could not be started."
#: Runs for a while, so that the server can be killed meanwhile.
SLOW = """\
import torch
x = torch.tensor(3.0, requires_grad=True)
total = 0
for i in range(20000):
    total += 1
y = x * x
y.backward()
"""


def _kill_server() -> None:
    server = app_sandbox._server
    if server is not None and server.process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(server.process.pid, signal.SIGKILL)


@contextmanager
def servers_killed() -> Iterator[None]:
    """Kill the server, and every other soon after it starts."""
    over = threading.Event()
    _kill_server()

    def kill_repeatedly() -> None:
        while not over.wait(0.02):
            _kill_server()

    thread = threading.Thread(target=kill_repeatedly)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.thorough
def test_a_server_killed_during_a_program_is_not_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed: list[int] = []
    read = client.read_message

    def receiving(*given: Any) -> tuple[int, Any]:
        kind, message = read(*given)
        if kind == wire.STARTED and not killed:
            killed.append(app_sandbox.pid or 0)
            _kill_server()
        return kind, message

    at = opened("pages/expression.py")
    monkeypatch.setattr(client, "read_message", receiving)
    run_program(at, SLOW)
    assert not at.exception
    assert "ax-error" not in html_of(at)
    assert {"x", "y"} <= set(rows(at))
    assert killed
    assert app_sandbox.pid not in killed


@pytest.mark.thorough
def test_expression_without_a_server() -> None:
    at, other = opened("pages/expression.py"), SLOW + "z = 1\n"  # the trace of SLOW is cached
    with servers_killed():
        run_program(at, other)
        assert not at.exception
        assert LOST in html_of(at)
        assert at.text_area(key="program").value == other
    at.run()  # such a failure is not cached
    assert not at.exception
    assert "ax-error" not in html_of(at)
    assert {"x", "y"} <= set(rows(at))


@pytest.mark.thorough
def test_the_gradient_check_without_a_server() -> None:
    at = opened("pages/expression.py")
    at.segmented_control(key="panel").set_value("check").run()
    with servers_killed():
        at.button(key="check").click().run()
        assert not at.exception
        assert LOST in html_of(at)
    at.button(key="check").click().run()
    assert not at.exception
    assert "Largest deviation" in html_of(at)


@pytest.mark.thorough
def test_a_press_on_a_custom_problem_without_a_server() -> None:
    at = page(problem="own")
    press(at, "backward")
    before = _shown(at)
    with servers_killed():
        press(at, "step")
        assert LOST in error(at)
        assert _shown(at) == before
    press(at, "step")
    assert error(at) == ""
    assert _shown(at) != before


@pytest.mark.thorough
def test_a_custom_problem_opened_without_a_server() -> None:
    with servers_killed():
        at = page(problem="own")
        assert LOST in html_of(at)
    at.run()
    assert not at.exception
    assert LOST not in html_of(at)
    press(at, "backward")


def _shown(at: Any) -> str:
    """The JSON of the parameters' numbers, as the page's component gets it."""
    json = [e.proto.json for e in at.get("bidi_component") if '"blocks"' in e.proto.json]
    return re.sub(r'"changed": \w+', "", json[0])


@pytest.mark.thorough
def test_an_upload_without_a_server() -> None:
    at = opened("pages/feature_maps.py")
    with servers_killed():
        upload(at, "ripples.png", drawn_file("ripples"))
        assert not at.exception
        assert LOST in html_of(at)
    at.run()
    assert not at.exception
    assert LOST not in html_of(at)
