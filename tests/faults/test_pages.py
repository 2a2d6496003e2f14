"""The sandbox dies under a page: it says a sentence, nothing is lost, the next press works."""

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

from explorer.sandbox import client, protocol
from explorer.sandbox.settings import Settings
from tests.pages.test_feature_maps import drawn_file, upload
from tests.pages.test_optimizer import error, page, press
from tests.pages.test_pages import html_of, opened, rows, run_program

pytestmark = pytest.mark.skipif(not Settings("", "").fork, reason="needs Linux")

LOST = "The process that runs programs could not be started."
#: Runs for a while, so that it can be struck on its way.
SLOW = """\
import torch
x = torch.tensor(3.0, requires_grad=True)
total = 0
for i in range(20000):
    total += 1
y = x * x
y.backward()
"""


def _strike() -> None:
    server = client._sandbox._server
    if server is not None and server.process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(server.process.pid, signal.SIGKILL)


@contextmanager
def no_server_lives() -> Iterator[None]:
    """Every server is killed soon after it starts."""
    over = threading.Event()

    def strike() -> None:
        while not over.wait(0.02):
            _strike()

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_server_killed_while_a_program_runs_is_not_even_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    struck: list[int] = []
    receive = client._receive

    def receiving(*given: Any) -> tuple[int, Any]:
        kind, message = receive(*given)
        if kind == protocol.STARTED and not struck:
            struck.append(client._sandbox.pid or 0)
            _strike()
        return kind, message

    at = opened("pages/expression.py")
    monkeypatch.setattr(client, "_receive", receiving)
    run_program(at, SLOW)
    assert not at.exception
    assert "ax-error" not in html_of(at)
    assert {"x", "y"} <= set(rows(at))
    assert struck
    assert client._sandbox.pid not in struck


def test_expression_without_a_server() -> None:
    at, other = opened("pages/expression.py"), SLOW + "z = 1\n"  # SLOW's trace is at hand
    with no_server_lives():
        run_program(at, other)
        assert not at.exception
        assert LOST in html_of(at)
        assert at.text_area(key="program").value == other
    at.run()  # what failed for the machine's sake is not kept
    assert not at.exception
    assert "ax-error" not in html_of(at)
    assert {"x", "y"} <= set(rows(at))


def test_the_numerical_check_without_a_server() -> None:
    at = opened("pages/expression.py")
    at.segmented_control(key="panel").set_value("check").run()
    with no_server_lives():
        at.button(key="check").click().run()
        assert not at.exception
        assert LOST in html_of(at)
    at.button(key="check").click().run()
    assert not at.exception
    assert "Largest deviation" in html_of(at)


def test_a_press_on_ones_own_problem_without_a_server() -> None:
    at = page(problem="own")
    press(at, "backward")
    before = _shown(at)
    with no_server_lives():
        press(at, "step")
        assert LOST in error(at)
        assert _shown(at) == before
    press(at, "step")
    assert error(at) == ""
    assert _shown(at) != before


def test_ones_own_problem_opened_without_a_server() -> None:
    with no_server_lives():
        at = page(problem="own")
        assert LOST in html_of(at)
    at.run()
    assert not at.exception
    assert LOST not in html_of(at)
    press(at, "backward")


def _shown(at: Any) -> str:
    """The parameters' numbers, as the page's component has them."""
    found = [e.proto.json for e in at.get("bidi_component") if '"blocks"' in e.proto.json]
    return re.sub(r'"changed": \w+', "", found[0])


def test_an_upload_without_a_server() -> None:
    at = opened("pages/feature_maps.py")
    with no_server_lives():
        upload(at, "ripples.png", drawn_file("ripples"))
        assert not at.exception
        assert LOST in html_of(at)
    at.run()
    assert not at.exception
    assert LOST not in html_of(at)
