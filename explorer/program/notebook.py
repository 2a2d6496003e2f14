"""What notebooks have besides Python: cells, and commands such as `!pip install`.

Lines that begin with `# %%` divide a program into cells. Editors know these lines
(https://code.visualstudio.com/docs/python/jupyter-support-py), and an opened notebook is turned
into such a text. The line may end with a title.

Commands (`%matplotlib inline`, `!pip install`, `model?`) are skipped, or, where they time a
statement, the statement is run. Every line stays where it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from explorer.program.completion import Completed

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


# -- commands --------------------------------------------------------------------------------------


#: Magics whose statement is run, once and without measuring; and those whose cell is run.
_RUN_LINE = {"time", "timeit", "prun", "memit"}
_RUN_CELL = _RUN_LINE | {"capture", "wandb"}
_OPTIONS = r"(?:\s+-\w+(?:\s*\d+)?)*"

_MAGIC = re.compile(rf"(\s*)(%%?)(\w+)({_OPTIONS})[ \t]*(.*)")
_ASSIGNED = re.compile(r"(\s*+[\w., \t]++=\s*)(!|%(\w+))(.*)")
_OTHERS = re.compile(
    r"\s*(?:!|%|\?{1,2}[\w.]+\s*$|[\w.]+\s*\?{1,2}\s*$"
    r"|get_ipython\(\)\.\w+\(.*\)\s*$|(?:pip3?|conda)\s+install\s)"
)
#: What makes a text worth a look. Blanks only: `\s*` would try all lines from each empty one.
_LIKELY = re.compile(
    r"^[ \t]*+(?:[%!?]|pip|conda)|=[ \t]*+[%!]|\?[ \t]*+$|get_ipython\(\)", re.MULTILINE
)


@dataclass(frozen=True)
class WithoutCommands:
    """A text without its commands. `skipped` are the lines of those that were skipped, `timed` of
    those whose statement is run."""

    source: str
    code: str
    skipped: tuple[int, ...] = ()
    timed: tuple[int, ...] = ()

    def of(self, completed: Completed) -> Completed:
        """The completed program, which was made of the code, as one of the text as typed."""
        if self.code == self.source:
            return completed
        lines = completed.lines or tuple(range(1, completed.code.count("\n") + 2))
        notices = (*self.notices, *completed.notices)
        return replace(completed, source=self.source, lines=lines, notices=notices)

    @property
    def notices(self) -> Iterator[str]:
        if self.skipped:
            count, were = len(self.skipped), "was" if len(self.skipped) == 1 else "were"
            noun = "notebook command" if count == 1 else "notebook commands"
            yield f"{count} {noun} {were} skipped ({_lines(self.skipped)})."
        if self.timed:
            yield f"What a notebook would time was run once ({_lines(self.timed)})."


def _lines(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")
    return f"line{'s' if len(numbers) > 1 else ''} {shown}"


def without_commands(source: str) -> WithoutCommands:
    """Replace the notebook commands of a text by comments, or by what they would run."""
    if not _LIKELY.search(source):
        return WithoutCommands(source, source)
    return _Reader(source).read()


class _Reader:
    """Reads a text line by line, and knows where a statement may begin."""

    def __init__(self, source: str) -> None:
        self.source, self.lines = source, source.split("\n")
        self.has_cells = any(map(is_mark, self.lines))
        self.skipped: list[int] = []
        self.timed: list[int] = []

    def read(self) -> WithoutCommands:
        state = _State()
        number = 0
        while number < len(self.lines):
            line = self.lines[number]
            if state.begins_statement:
                end = self.command(number)
                if end > number:
                    number = end
                    continue
                line = self.lines[number]
            state.read(line)
            number += 1
        code = "\n".join(self.lines)
        return WithoutCommands(self.source, code, tuple(self.skipped), tuple(self.timed))

    def command(self, number: int) -> int:
        """Replace the command that begins on this line, from 0; returns the line after what was
        skipped, or the same one if it is to be read as Python."""
        line = self.lines[number]
        if magic := _MAGIC.fullmatch(line):
            indent, sign, name, _, rest = magic.groups()
            if sign == "%%" and name not in _RUN_CELL:
                self.skipped.append(number + 1)
                return self.skip(number, self.end_of_cell(number), number)
            if name in _RUN_LINE:
                self.timed.append(number + 1)
                self.lines[number] = f"{indent}{rest}" if rest else _comment(line)
                return number
        if assigned := _ASSIGNED.fullmatch(line):
            target, sign, name, rest = assigned.groups()
            if name in _RUN_LINE:
                self.timed.append(number + 1)
                self.lines[number] = target + re.sub(rf"^{_OPTIONS}\s*", "", rest)
                return number
            self.skipped.append(number + 1)
            nothing = "[]" if sign == "!" else "None"
            self.lines[number] = f"{target}{nothing}  # {sign}{rest}"
            return self.skip(number + 1, self.end_of_line(number))
        if _OTHERS.match(line):
            self.skipped.append(number + 1)
            return self.skip(number, self.end_of_line(number), number)
        return number

    def end_of_line(self, number: int) -> int:
        """The line after a command, which may go on behind a backslash."""
        while number < len(self.lines) and self.lines[number].endswith("\\"):
            number += 1
        return number + 1

    def end_of_cell(self, number: int) -> int:
        """The line after a cell: that of the next one or, without marks, an empty one."""
        for end in range(number + 1, len(self.lines)):
            if is_mark(self.lines[end]) if self.has_cells else not self.lines[end].strip():
                return end
        return len(self.lines)

    def skip(self, start: int, end: int, command: int | None = None) -> int:
        """Make comments of these lines; the command itself may be all there is in a block."""
        for number in range(start, min(end, len(self.lines))):
            line = self.lines[number]
            self.lines[number] = _comment(line) if number == command else f"#  {line.strip()}"
        return end


def _comment(line: str) -> str:
    """A line that does nothing, also where a block needs a statement."""
    text = line.lstrip()
    indent = line[: len(line) - len(text)]
    return f"{indent}pass  # {text}" if indent or text.startswith("%%") else f"# {text}"


#: What begins or ends something that goes on behind the end of a line.
_MARKS = re.compile(r"""\\.|\"""|'''|["']|[()\[\]{}]|\#""", re.DOTALL)


class _State:
    """What is open at the end of a line: brackets, a string, or a line that goes on."""

    def __init__(self) -> None:
        self.brackets = 0
        self.string = ""
        self.goes_on = False

    @property
    def begins_statement(self) -> bool:
        return not (self.brackets or self.string or self.goes_on)

    def read(self, line: str) -> None:
        self.goes_on = line.endswith("\\")
        for mark in _MARKS.findall(line):
            if mark[0] == "\\":
                continue
            if self.string:
                if mark == self.string:
                    self.string = ""
            elif mark == "#":
                self.goes_on = False
                break
            elif mark[0] in "\"'":
                self.string = mark
            elif mark in "([{":
                self.brackets += 1
            else:
                self.brackets = max(0, self.brackets - 1)
        if len(self.string) == 1 and not self.goes_on:
            self.string = ""  # not closed: Python will say so
