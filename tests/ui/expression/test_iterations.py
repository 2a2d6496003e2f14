"""What is said of a second run, and the curves of a loop."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import explorer
from explorer.program import ProgramError
from explorer.trace import Trace
from explorer.trace.records import Curve
from explorer.ui.expression.iterations import compare_runs
from explorer.view import curves

pytestmark = pytest.mark.fast

LOOP = """\
import torch
w = torch.tensor(1.0, requires_grad=True)
for step in range(9):
    loss = (w - 3) ** 2
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""


@pytest.fixture(scope="module")
def runs() -> tuple[Trace, Trace]:
    return explorer.run(LOOP), explorer.run(LOOP, iteration=6)


def with_losses(trace: Trace, *losses: float) -> Trace:
    curve = Curve("loss", "", tuple(range(1, len(losses) + 1)), losses)
    return replace(trace, curves=(curve,))


def test_equal_runs_are_only_announced(runs: tuple[Trace, Trace]) -> None:
    assert compare_runs(*runs, 6) == "The program ran again to record backward pass 6."
    nan = math.nan
    first, again = (with_losses(run, 1.0, nan, 2.0) for run in runs)
    assert compare_runs(first, again, 6) == "The program ran again to record backward pass 6."


@pytest.mark.parametrize(
    ("before", "after"),
    [((1.0, 2.0, 3.0), (1.0, 2.5, 4.0)), ((1.0, 2.0), (1.0, math.nan))],
)
def test_other_losses_are_named_with_the_first_pass(
    runs: tuple[Trace, Trace], before: tuple[float, ...], after: tuple[float, ...]
) -> None:
    said = compare_runs(with_losses(runs[0], *before), with_losses(runs[1], *after), 6)
    assert f"differ, first at pass 2: 2 and {after[1]:g}. A program that reads the clock" in said


def test_another_number_of_passes_is_named(runs: tuple[Trace, Trace]) -> None:
    said = compare_runs(runs[0], replace(runs[1], pass_count=8), 6)
    assert "The first run made 9 passes, this one 8." in said


def test_a_pass_that_was_not_reached(runs: tuple[Trace, Trace]) -> None:
    short = replace(runs[0], passes=runs[0].passes[:3], pass_count=5)
    assert "reached only pass 5. A program that reads the clock" in compare_runs(runs[0], short, 6)
    failed = replace(short, error=ProgramError("It took too long."))
    assert "pass 5. It took too long. The first" in compare_runs(runs[0], failed, 6)


def test_the_curves_are_those_of_the_loop(runs: tuple[Trace, Trace]) -> None:
    w, rows = 1.0, []
    for number in range(1, 10):
        rows.append((number, (w - 3) ** 2, abs(2 * (w - 3))))
        w -= 0.1 * 2 * (w - 3)
    head, *lines = curves.to_csv(runs[0].curves).decode().splitlines()
    assert head == "backward pass,loss,gradient norm of w"
    for line, row in zip(lines, rows, strict=True):
        assert [float(cell) for cell in line.split(",")] == pytest.approx(row, rel=1e-5)


def test_what_was_not_kept_is_empty_in_the_file() -> None:
    some = (Curve("loss", "", (1, 2, 3), (4.0, math.nan, 2.0)), Curve("norm", "w", (2,), (1.0,)))
    lines = curves.to_csv(some).decode().splitlines()
    assert lines[1:] == ["1,4.0,", "2,nan,1.0", "3,2.0,"]


def test_the_first_values_that_are_not_finite() -> None:
    inf = math.inf
    some = (
        Curve("loss", "", (1, 2, 3), (4.0, inf, math.nan)),
        Curve("norm", "b", (1, 2, 3), (1.0, 1.0, 1.0)),
        Curve("norm", "w", (1, 3), (1.0, math.nan)),
    )
    said = curves.describe_nonfinite(some)
    assert said.endswith("first: loss at pass 2 (inf), gradient norm of w at pass 3 (nan).")
    assert curves.describe_nonfinite(some[1:2]) == ""


def test_a_wide_span_gets_a_logarithmic_axis() -> None:
    falling = Curve("loss", "", (1, 2, 3), (1.0, 1e-3, 1e-6))
    assert curves.to_plot(falling, 3, 2).y.log
    assert curves.to_plot(falling, 3, 2).mark == 2
    assert not curves.to_plot(replace(falling, values=(1.0, 0.5, -1.0)), 3, 2).y.log
