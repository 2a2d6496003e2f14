"""Cells: the parts of a program that lines beginning with `# %%` divide it into.

Editors know these lines (https://code.visualstudio.com/docs/python/jupyter-support-py), and an
opened notebook is turned into such a text. The line may end with a title.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

_MARK = re.compile(r"#\s?%%(?!%)(.*)")
#: Most characters of a title.
_TITLE = 80


@dataclass(frozen=True)
class Cell:
    """A cell with its number from 1, its title, and its lines: `first` is that of the mark, or 1
    if something stands before the first mark."""

    number: int
    title: str
    first: int
    last: int


def find_cells(source: str) -> tuple[Cell, ...]:
    """The cells of a program that are not empty; none if no line marks one."""
    lines = source.rstrip().split("\n")
    marks = [
        (n, found[1].strip()[:_TITLE])
        for n, line in enumerate(lines, 1)
        if (found := _MARK.match(line))
    ]
    if not marks:
        return ()
    starts = [(1, ""), *marks] if marks[0][0] > 1 else marks
    ends = [first - 1 for first, _ in starts[1:]] + [len(lines)]
    cells: list[Cell] = []
    for (first, title), last in zip(starts, ends, strict=True):
        if any(_is_code(line) for line in lines[first - 1 : last]):
            cells.append(Cell(len(cells) + 1, title, first, last))
    return tuple(cells)


def is_mark(line: str) -> bool:
    """Whether this line begins a cell."""
    return _MARK.match(line) is not None


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def up_to(source: str, number: int) -> str:
    """The program up to the end of this cell; all of it if there is no such cell."""
    for cell in find_cells(source):
        if cell.number == number:
            return "\n".join(source.split("\n")[: cell.last])
    return source


def last_statements(source: str, ends: Sequence[int]) -> list[int]:
    """Which statements are the last of a cell. `ends` are the last lines of the statements of a
    program, in their order; without cells, there are none."""
    cells = [cell.last for cell in find_cells(source)]
    last = {bisect_left(cells, end): n for n, end in enumerate(ends)}
    return list(last.values()) if cells else []


def echoed(source: str, ends: Sequence[int]) -> list[int]:
    """Which statements show their values: as in a notebook, the last of each cell, unless a
    semicolon follows it; without cells, all of them."""
    last, lines = last_statements(source, ends), source.split("\n")
    if not last:
        return list(range(len(ends)))
    return [n for n in last if not lines[ends[n] - 1].rstrip().endswith(";")]
