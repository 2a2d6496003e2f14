"""Any backward pass of a long loop on the Expression page."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.test_pages import ROOT, component, html_of, opened, rows, run_program

LOOP = """\
import torch
w = torch.tensor(3.0, requires_grad=True)
for k in range(9):
    loss = (w - k) ** 2
    loss.backward()
    w.grad = None
"""
CLOCK = LOOP.replace("import torch", "import torch\nimport time").replace(
    "- k)", "- time.time() % 1)"
)


@pytest.fixture
def at() -> Any:
    page = opened("pages/expression.py")
    run_program(page, LOOP)
    assert not page.exception
    return page


def choose(at: Any, number: int) -> Any:
    at.number_input(key="iteration").set_value(number).run()
    assert not at.exception
    return at


def values_of_loss(at: Any) -> list[tuple[str, str]]:
    """Iteration and value of each recorded loss."""
    shown = [row["cells"] for row in component(at, "rows")["rows"]]
    return [(cells[2], cells[7]) for cells in shown if cells[0] == "loss"]


def test_a_recorded_pass_needs_no_other_run(at: Any) -> None:
    assert "Of 9 backward passes" in html_of(at)
    before = component(at, "svg")["digest"]
    for number in (2, 9):
        choose(at, number)
        assert "ran again" not in html_of(at)
        assert component(at, "svg")["digest"] != before


def test_any_other_is_recorded_by_another_run(at: Any) -> None:
    assert values_of_loss(at) == [("1", "9"), ("2", "4"), ("3", "1"), ("9", "25")]
    choose(at, 7)
    assert "The program ran again to record backward pass 7.<" in html_of(at)
    assert ("7", "9") in values_of_loss(at)
    choose(at, 1)
    assert "ran again" not in html_of(at)


def test_a_program_that_reads_the_clock_is_said_to_differ(at: Any) -> None:
    run_program(at, CLOCK)
    choose(at, 5)
    assert "The losses of the two runs differ, first at pass 1:" in html_of(at)
    assert "reads the clock" in html_of(at)


@pytest.mark.parametrize(("asked", "number"), [("7", 7), ("3", 3), ("7.0", 7)])
def test_the_link_chooses_it(asked: str, number: int) -> None:
    at = from_link(asked)
    assert at.number_input(key="iteration").value == number
    assert ("ran again to record backward pass 7" in html_of(at)) == (number == 7)
    assert "cannot be used" not in html_of(at)


@pytest.mark.parametrize("asked", ["0", "10", "-1", "nan", "1e400", "many", "9" * 5000])
def test_what_the_link_cannot_choose_is_said(asked: str) -> None:
    at = from_link(asked)
    assert at.number_input(key="iteration").value == 1
    assert "The link asks for iteration = " in html_of(at)
    choose(at, 2)
    assert "The link asks" not in html_of(at)


def test_a_shorter_program_says_that_it_lacks_the_pass(at: Any) -> None:
    at = from_link("7", LOOP.replace("9", "2"))
    assert "iteration = 7, which cannot be used; 1 is used" in html_of(at)


def from_link(asked: str, program: str = LOOP) -> Any:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    at.query_params.update({"program": program, "iteration": asked})
    at.switch_page("pages/expression.py").run()
    assert not at.exception
    assert "w" in rows(at)
    return at


def test_the_curves_mark_the_shown_pass(at: Any) -> None:
    at.segmented_control(key="panel").set_value("curves").run()
    assert not at.exception
    choose(at, 7)
    loss, norm = component(at, "cells")["cells"]
    assert loss["lines"][0]["y"] == [9, 4, 1, 0, 1, 4, 9, 16, 25]
    assert norm["lines"][0]["y"] == [abs(2 * (3 - k)) for k in range(9)]
    assert norm["y"]["label"] == "gradient norm of w"
    assert loss["mark"] == norm["mark"] == 7


def test_values_that_are_not_finite_are_named(at: Any) -> None:
    run_program(at, LOOP.replace("** 2", "/ (k - 6) ** 2"))
    at.segmented_control(key="panel").set_value("curves").run()
    assert "loss at pass 7 (-inf)" in html_of(at)
    assert component(at, "cells")["cells"][0]["lines"][0]["y"][6] is None


def test_curves_are_offered_to_long_loops_alone(at: Any) -> None:
    assert "Curves" in at.segmented_control(key="panel").options
    run_program(at, LOOP.replace("9", "3"))
    assert "Curves" not in at.segmented_control(key="panel").options


def test_hidden_gradients_stay_hidden(at: Any) -> None:
    at.query_params["predict"] = "true"
    at.query_params["panel"] = "Curves"
    at.run()
    assert "Curves" not in at.segmented_control(key="panel").options
    assert component(at, "rows")["rows"][0]["cells"][-2] == "?"
