"""The files of code that is recorded where it stands, as one text, and what their statements bind.

Which file is the reader's own is decided by where it is: everything but Python's library, installed
packages and this one. Nothing is rewritten; a frame and the position of its running instruction
(https://docs.python.org/3/reference/datamodel.html#codeobject.co_positions) tell the statement.
"""

from __future__ import annotations

import ast
import linecache
import os
import sysconfig
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType

from explorer import limits
from explorer.program import SourceLocation
from explorer.program.parsing import tree_of
from explorer.program.rewrite import root_names, target_names
from explorer.trace.records import SourceFile

_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_LIBRARIES = tuple(
    {f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib")}
    | {f"{Path(__file__).parents[2]}{os.sep}"}
)
#: The cells of IPython without a kernel; those of a kernel are files.
_CELL = "<ipython-input-"
#: Code that has no statements of its own.
OF_EXPRESSIONS = frozenset(["<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"])


#: The place of what was there before recording began: on no line.
BEFORE = 0


@lru_cache(maxsize=4096)
def is_own_file(name: str) -> bool:
    """Whether code of this file is neither Python's nor of an installed package."""
    if name.startswith("<"):
        return name.startswith(_CELL)
    path = os.path.abspath(name)
    return not (path.startswith(_LIBRARIES) or any(folder in path for folder in _INSTALLED))


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement of the recorded text: its first `line`, whether it `is_first` there, its `text`,
    and the names that it binds or may change, each with its place among the locations."""

    line: int
    is_first: bool
    text: str
    binds: tuple[tuple[int, str], ...]


@dataclass(frozen=True, eq=False)
class Running:
    """What runs at an instruction: a statement, and the place of the expression."""

    statement: Statement
    place: int


class OwnFiles:
    """The recorded files in the order in which they were met; a `scope` is the function that code
    belongs to, as the reader writes it. `locations` are those of expressions and names."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        """`texts` are those of files that differ from what was read of them."""
        self._texts = texts or {}
        self.locations = [SourceLocation(0, 0, "", "")]
        self._files: dict[str, SourceFile | None] = {}
        self._text: list[str] = []
        self._by_line: dict[str, dict[int, list[ast.stmt]]] = {}
        self._statements: dict[tuple[ast.stmt, str], Statement] = {}
        self._running: dict[tuple[int, int], Running | None] = {}
        self._positions: dict[int, list[tuple[int | None, ...]]] = {}
        self._arguments: dict[int, tuple[tuple[int, str], ...]] = {}
        #: Code whose id is a key.
        self._held: list[CodeType] = []
        #: The name of the function in which recording began: its variables have plain names.
        self.base = ""
        #: The names of files that are too long to be shown.
        self.without_room: list[str] = []
        #: A file that is the reader's own wherever it is.
        self.forced = ""

    @property
    def files(self) -> tuple[SourceFile, ...]:
        return tuple(file for file in self._files.values() if file is not None)

    @property
    def source(self) -> str:
        return "".join(self._text)

    def owns(self, code: CodeType) -> bool:
        """Whether this is code of the reader's."""
        name = code.co_filename
        return is_own_file(name) or name == self.forced

    def line_at(self, name: str, line: int) -> int:
        """The line of `source` that is this line of a file; 0 where the file is not one of them."""
        file = self._files.get(name)
        return file.first + line - 1 if file is not None else 0

    def add(self, name: str) -> None:
        """Add a file in which the reader's code runs, if there is room for its text."""
        if name not in self._files:
            self._files[name] = self._read(name)

    def _read(self, name: str) -> SourceFile | None:
        text = self._texts.get(name)
        held = linecache.getlines(name) if text is None else text.splitlines(keepends=True)
        lines = [line.rstrip("\r\n") + "\n" for line in held]
        room = limits.MAX_SOURCE - sum(map(len, self._text))
        shown = "cell" if name.startswith(_CELL) or "ipykernel" in name else os.path.basename(name)
        if not lines:
            return None
        if sum(map(len, lines)) > room:
            self.without_room.append(shown)
            return None
        file = SourceFile(shown, len(self._text) + 1, len(lines))
        self._text += lines
        self._by_line[name] = _statements_by_line("".join(lines))
        return file

    def scope(self, code: CodeType) -> str:
        """The function of the reader's that this code is, as in "Net.forward"; empty for that in
        which recording began, and for what is in none."""
        name = code.co_qualname
        if name == self.base or name == "<module>":
            return ""
        return name.removeprefix(f"{self.base}.<locals>.").replace(".<locals>", "")

    def running(self, code: CodeType, instruction: int) -> Running | None:
        """What runs where a frame has come to this instruction; None where it is not known."""
        key = id(code), instruction
        if key not in self._running:
            self._running[key] = self._find(code, instruction)
        return self._running[key]

    def _find(self, code: CodeType, instruction: int) -> Running | None:
        if id(code) not in self._positions:
            self._held.append(code)
            self._positions[id(code)] = list(code.co_positions())
            self.add(code.co_filename)
        positions = self._positions[id(code)]
        line, end, column, last = positions[instruction // 2] if instruction >= 0 else (None,) * 4
        if line is None or not self.line_at(code.co_filename, line):
            return None
        around = self._by_line[code.co_filename].get(line, ())
        at = line, column or 0
        node = max(
            (s for s in around if (s.lineno, s.col_offset) <= at),
            key=lambda s: (s.lineno, s.col_offset),
            default=None,
        )
        if node is None:
            return None
        text = ""
        if column is not None and last is not None and line == end:
            raw = self._line_text(code.co_filename, line).encode()[column:last]
            text = raw.decode(errors="replace")[: limits.MAX_EXPRESSION]
        statement = self._statement(node, code)
        return Running(statement, self._location(code, line, column or 0, text))

    def _statement(self, node: ast.stmt, code: CodeType) -> Statement:
        key = node, code.co_qualname
        if key not in self._statements:
            text = self._line_text(code.co_filename, node.lineno).strip()[: limits.MAX_EXPRESSION]
            binds = tuple(
                (self._location(code, node.lineno, node.col_offset, text), name)
                for name in dict.fromkeys(_bound_by(node))
            )
            line = self.line_at(code.co_filename, node.lineno)
            around = self._by_line[code.co_filename][node.lineno]
            begin = (s.col_offset for s in around if s.lineno == node.lineno)
            is_first = node.col_offset == min(begin)
            self._statements[key] = Statement(line, is_first, text, binds)
        return self._statements[key]

    def arguments(self, code: CodeType) -> tuple[tuple[int, str], ...]:
        """The names of a function's arguments, each with its place."""
        if id(code) not in self._arguments:
            self._held.append(code)
            self.add(code.co_filename)
            count = code.co_argcount + code.co_kwonlyargcount
            names = [n for n in code.co_varnames[:count] if n != "self" and n[:1] != "."]
            self._arguments[id(code)] = tuple(
                (self._location(code, code.co_firstlineno, 0, name), name) for name in names
            )
        return self._arguments[id(code)]

    def _location(self, code: CodeType, line: int, column: int, text: str) -> int:
        at = self.line_at(code.co_filename, line)
        self.locations.append(SourceLocation(at, column, text, self.scope(code)))
        return len(self.locations) - 1

    def _line_text(self, name: str, line: int) -> str:
        file = self._files.get(name)
        return "" if file is None else self._text[file.first + line - 2]


def _statements_by_line(text: str) -> dict[int, list[ast.stmt]]:
    """The statements on each line; of a compound one, those of its header."""
    found: dict[int, list[ast.stmt]] = defaultdict(list)
    for node in ast.walk(tree_of(text, limits.MAX_SOURCE) or ast.Module([], [])):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno
            for line in range(node.lineno, max(node.lineno, end or 0) + 1):
                found[line].append(node)
    return found


def _bound_by(node: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, or whose objects it may change."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from target_names(target)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For | ast.AsyncFor):
        yield from target_names(node.target)
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            if item.optional_vars is not None:
                yield from target_names(item.optional_vars)
    elif isinstance(node, ast.Expr):
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            yield from root_names(call)
    if not hasattr(node, "body"):
        walrus = (n for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
        yield from (named.target.id for named in walrus)
