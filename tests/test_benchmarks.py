"""The rows of the benchmarks: numbers, verdicts on budgets, and nothing lost."""

import re
from pathlib import Path

import pytest

from benchmarks import loops, trace
from benchmarks.measure import Budget, Row
from benchmarks.results import Group, make_document, table
from benchmarks.running import measure_group
from explorer.trace import run
from tests.marks import sample


def lines_of(rows: tuple[Row, ...]) -> dict[str, list[str]]:
    """First cell -> the others, for each row of a group's table."""
    columns = [
        re.split(r"(?<!\\)\|", line) for line in table(Group("Title", "", rows)).splitlines()
    ]
    cells = [[cell.strip() for cell in line[1:-1]] for line in columns if len(line) > 1][2:]
    return {first: rest for first, *rest in cells}


def seconds(amount: str) -> float:
    number, unit = amount.split()
    return float(number) * {"ms": 1e-3, "s": 1}[unit]


@pytest.mark.thorough
def test_a_group_gives_each_program_a_row_with_numbers() -> None:
    rows = measure_group("trace", 1).rows
    assert [row.what for row in rows] == [*(what for what, *_ in trace.PROGRAMS), trace.UNRECORDED]
    for ours, baseline, theirs, ratio, *_ in lines_of(rows).values():
        assert baseline == "plain torch"
        assert seconds(theirs) > 1e-5
        assert float(ratio.split()[0]) == pytest.approx(seconds(ours) / seconds(theirs), 0.02)


@pytest.mark.parametrize(
    ("program", "steps"), sample([row[1:3] for row in loops.PROGRAMS], every=3)
)
def test_loops_run_to_their_end(program: str, steps: int) -> None:
    trace = run(program.format(steps=min(steps, 16)))
    assert trace.error is None
    assert trace.pass_count == 16


def test_the_sigmoid_net_has_the_published_errors() -> None:
    trace = run(loops.SIGMOID_NET.format(steps=2))
    assert trace.variables["losses"] == pytest.approx([0.298371109, 0.291027924], abs=2e-7)


def test_growth_is_drawn(tmp_path: Path) -> None:
    loops.draw({1: (2.0, 1.0), 2: (4.0, 2.0)}, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
    row = loops.growth_row(dict.fromkeys(loops.STEPS, (2.0, 1.0)))
    assert row.ratio == pytest.approx(loops.STEPS[1] / loops.STEPS[-1])


def test_rows_say_whether_their_budget_is_met() -> None:
    rows = (
        Row("1.4 times", 1.4, "peer", 1.0, Budget(1.5, "ratio")),
        Row("1.6 times", 1.6, "peer", 1.0, Budget(1.5, "ratio")),
        Row("fast, with a slow peer", 0.5, "peer", 0.1, Budget(0.6, "absolute")),
        Row("slow, with a slower peer", 0.7, "peer", 9.0, Budget(0.6, "absolute")),
        Row("memory", 301.0, budget=Budget(300, "absolute"), unit="MB"),
        Row("no budget", 5.0),
        Row("not | measured", None, budget=Budget(1, "absolute"), note="no | tool"),
    )
    cells = lines_of(rows)
    assert {what: rest[-1] for what, rest in cells.items()} == {
        "1.4 times": "met",
        "1.6 times": "**not met**",
        "fast, with a slow peer": "met",
        "slow, with a slower peer": "**not met**",
        "memory": "**not met**",
        "no budget": "",
        "not \\| measured (1)": "",
    }
    assert cells["1.6 times"] == ["1.6 s", "peer", "1 s", "1.60 ×", "≤ 1.5 ×", "**not met**"]
    assert cells["memory"][0] == "301 MB"
    assert cells["not \\| measured (1)"][0] == "not measured"
    text = make_document([Group("Title", "About.", rows)], {"Memory": "1 GB"}, 1.0)
    assert "2 of 6 budgets are met" in text
    assert text.count("- **not met**") == 3
    assert "- not measured: not | measured" in text


def test_a_group_that_cannot_run_says_why() -> None:
    (row,) = measure_group("nothing_of_the_kind", 1).rows
    assert row.ours is None
    assert "nothing_of_the_kind" in row.note
