"""Rows as text: one line each for the terminal, one table per group for RESULTS.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from benchmarks.measure import Row

_HEAD = ("measurement", "ours", "compared with", "theirs", "ratio", "budget", "")
_VERDICTS = {True: "met", False: "**not met**", None: ""}


@dataclass(frozen=True)
class Group:
    """The measurements of one module: its title, how it measures, and its rows."""

    title: str
    about: str
    rows: tuple[Row, ...]


def amount(value: float, unit: str = "s") -> str:
    """The value with three digits, in a readable unit."""
    if unit == "s" and value < 1:
        value, unit = value * 1000, "ms"
    digits = f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return f"{digits} {unit}".rstrip()


def cells(row: Row) -> tuple[str, ...]:
    """The row's columns, as in `_HEAD`."""
    ours = "not measured" if row.ours is None else amount(row.ours, row.unit)
    theirs = "" if row.theirs is None else amount(row.theirs, row.unit)
    ratio = "" if row.ratio is None else f"{row.ratio:.2f} ×"
    limit = ""
    if row.budget is not None:
        most = row.budget.limit
        limit = f"≤ {most:g} ×" if row.budget.kind == "ratio" else f"≤ {amount(most, row.unit)}"
    return row.what, ours, row.baseline, theirs, ratio, limit, _VERDICTS[row.met]


def line(row: Row) -> str:
    """For the terminal."""
    what, *rest = cells(row)
    return f"  {what}: " + ", ".join(part for part in (*rest, row.note) if part)


def make_document(groups: Sequence[Group], machine: Mapping[str, str], minutes: float) -> str:
    """The text of RESULTS.md."""
    all_rows = [(group.title, row) for group in groups for row in group.rows]
    budgets = [row for _, row in all_rows if row.budget is not None]
    met = sum(row.met is True for row in budgets)
    missed = "".join(_missed(title, row) for title, row in all_rows if row.met is False)
    unmeasured = "".join(
        f"- not measured: {row.what} ({title})\n" for title, row in all_rows if row.ours is None
    )
    facts = "".join(f"| {name} | {value} |\n" for name, value in machine.items())
    return (
        "# Speed\n\n"
        f"Written by `python -m benchmarks` on {date.today():%d %B %Y}, in {minutes:.0f} min. "
        "All figures are medians; the two sides of a comparison took turns in one run. torch uses "
        "one thread, as in the app, unless a row says otherwise.\n\n"
        f"{met} of {len(budgets)} budgets are met.\n\n{missed}{unmeasured}\n"
        f"| machine | |\n|---|---|\n{facts}\n" + "\n".join(map(table, groups))
    )


def _missed(title: str, row: Row) -> str:
    _, ours, _, _, ratio, limit, mark = cells(row)
    value = ratio if limit.endswith("×") else ours
    return f"- {mark}: {row.what} ({title}): {value}, budget {limit}\n"


def table(group: Group) -> str:
    """The group's heading, how it measures, its table, and the rows' notes below."""
    notes = [row.note for row in group.rows if row.note]
    body = [_HEAD, ("---",) * len(_HEAD)]
    for row in group.rows:
        what, *rest = cells(row)
        mark = f" ({notes.index(row.note) + 1})" if row.note else ""
        body.append((_plain(what + mark), *map(_plain, rest)))
    lines = ["| " + " | ".join(parts) + " |" for parts in body]
    foot = [f"{number}. {_plain(note)}" for number, note in enumerate(notes, 1)]
    parts = [f"## {group.title}", group.about, "\n".join(lines), "\n".join(foot)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _plain(text: str) -> str:
    """The text on one line, with bars escaped, so that it fits in a cell."""
    return " ".join(text.replace("|", "\\|").split())
