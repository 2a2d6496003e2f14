"""Mini-batches on the Optimizer page."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.training import PRESETS
from tests.pages.optimizer_page import error, page, press, said, shown
from tests.pages.test_pages import component, opened


def rings(at: Any) -> int:
    """The samples that are ringed in the picture of the fit."""
    (fit,) = (cell for cell in component(at, "cells")["cells"] if cell["name"] == "fit")
    return sum(len(line["x"]) for line in fit["lines"] if line["rings"])


@pytest.mark.parametrize(
    ("problem", "samples"), [("linear regression", 1000), ("planar", 200)], ids=str
)
def test_the_samples_of_a_forward_are_ringed(problem: str, samples: int) -> None:
    at = page(problem=problem)
    assert rings(at) == 0
    at.selectbox(key="batch").set_value(128).run()
    assert not at.exception
    assert f"the next 128 of {samples:,} samples" in shown(at)
    press(at, "reset", "forward")
    assert not error(at)
    assert "The loss of 128 samples is" in said(at)
    assert rings(at) == 128
    for _ in range(-(-samples // 128) - 1):
        press(at, "forward")
    assert rings(at) == samples % 128
    press(at, "undo")
    assert rings(at) == 128
    at.selectbox(key="batch").set_value("all").run()
    assert rings(at) == 0
    assert "of the next batch" not in shown(at)


def test_another_problem_has_no_batches() -> None:
    at = page(problem="parabola")
    assert not any(box.key == "batch" for box in at.selectbox)


@pytest.mark.parametrize("value", ["7", "-1", "all; 1", "nan", "9" * 40])
def test_a_size_that_a_link_cannot_ask_for(value: str) -> None:
    at = opened("app.py")
    at.query_params["problem"] = PRESETS["linear regression"].title
    at.query_params["batch"] = value
    at.switch_page("pages/optimizer.py").run()
    assert not at.exception
    assert at.selectbox(key="batch").value == "all"
    assert "batch" in shown(at)
