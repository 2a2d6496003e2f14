"""The Expression page while a program runs."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer.ui.server import sandbox_call
from tests.pages.test_pages import ROOT, component, html_of, opened, rows, run_program

LOOP = """\
import torch
w = torch.tensor(1.0, requires_grad=True)
i = 0
while True:
    i += 1
    loss = (w - 3) ** 2
    loss.backward()
    if i % 10 == 0:
        print("step", i)
"""


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The page with its example, whose jobs are not waited for from now on."""
    page = opened("pages/expression.py")
    monkeypatch.setattr(sandbox_call, "WAIT", 0.0)
    return page


def run_until(at: Any, check: Callable[[Any], bool]) -> Any:
    """Run the page as often as its fragment would, until it looks as it should."""
    limit = time.monotonic() + 60
    while not check(at):
        assert time.monotonic() < limit
        time.sleep(0.1)
        at.run()
        assert not at.exception
    return at


def has(text: str) -> Callable[[Any], bool]:
    return lambda at: text in html_of(at)


def test_a_link_selects_after_the_first_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_call, "WAIT", 0.0)
    sandbox_call._traces.clear()
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    page.switch_page("pages/expression.py")
    page.query_params["at"] = "node-n2"
    page.run()
    assert "Running" in html_of(page) or "Starting" in html_of(page)
    run_until(page, lambda page: "last-run" in page.session_state)
    assert page.query_params["at"] in ("node-n2", ["node-n2"])
    assert page.session_state["expression.pick"][1] == "node-n2"


def test_progress_is_shown_and_the_run_before_stays(at: Any) -> None:
    before = component(at, "svg")["svg"]
    run_until(run_program(at, LOOP), lambda at: "step 20" in html_of(at))
    shown = html_of(at)
    assert "Running: line " in shown
    assert "times · " in shown
    assert "From the previous run" in shown
    assert component(at, "svg")["svg"] == before
    assert "x" in rows(at)


def test_stop_keeps_what_was_done(at: Any) -> None:
    run_until(run_program(at, LOOP), has("step 20"))
    at.button(key="run-stop").click().run()
    run_until(at, has("You stopped the program after"))
    shown = html_of(at)
    assert "ax-stopped" in shown
    assert "ax-progress" not in shown
    assert "step 10\nstep 20\n" in shown
    assert {"w", "loss"} <= set(rows(at))
    at.run()  # and another press does not run it again
    assert "You stopped" in html_of(at)


def test_what_is_typed_runs_for_a_second_and_the_picture_stays(at: Any) -> None:
    before = component(at, "svg")["svg"]

    def typed(source: str, check: Callable[[Any], bool]) -> None:
        run_until(at.text_area(key="program").set_value(source).run(), check)

    typed(LOOP, has("This program takes longer than 1 s: press Run."))
    assert component(at, "svg")["svg"] == before
    job = at.session_state["sandbox.jobs"]["run"]
    at.run()  # and does not run again by itself
    assert at.session_state["sandbox.jobs"]["run"] is job
    typed("import torch\ntorch.ones(2) @ torch.ones(3)", has("ax-rest"))
    assert component(at, "svg")["svg"] == before
    assert "Line 2" in html_of(at)
    assert component(at, "editor")["editor"]["marks"]["error"] == 2
    at.button(key="run").click().run()
    run_until(at, lambda at: "ax-rest" not in html_of(at) and "Line 2" in html_of(at))


def test_new_text_cancels_the_run(at: Any) -> None:
    run_until(run_program(at, LOOP), has("Running: line"))
    call = weakref.ref(at.session_state["sandbox.jobs"]["run"].call)
    run_until(run_program(at, "import torch\nprint('another')"), has("another"))
    assert call() is None
    assert "ax-progress" not in html_of(at)


def test_leaving_the_page_cancels_the_run(at: Any) -> None:
    run_until(run_program(at, LOOP), has("Running: line"))
    call = weakref.ref(at.session_state["sandbox.jobs"]["run"].call)
    at.switch_page("pages/network.py").run()
    assert call() is None


def test_without_a_run_before_there_is_a_placeholder(at: Any) -> None:
    del at.session_state["last-run"]
    run_program(at, LOOP)
    assert "The graph appears here when the program has run." in html_of(at)


def test_long_output_is_cut(at: Any) -> None:
    run_until(run_program(at, "for i in range(30000):\n    print(i)"), has("29999"))
    shown = html_of(at)
    assert "0\n1\n2\n" in shown
    assert " characters …" in shown


def test_a_check_is_a_job_too(at: Any) -> None:
    at.session_state["panel"] = "check"
    at.run()
    at.button(key="check").click().run()
    run_until(at, has("Largest deviation"))
