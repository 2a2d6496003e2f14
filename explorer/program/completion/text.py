"""A program's text: changes to be made at positions of its tree, and lines to be added to it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import accumulate
from typing import Any


class Text:
    """A text, and changes to it that do not overlap. None of them adds or removes a line."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self._changes: list[tuple[int, int, str]] = []

    def offset(self, line: int, column: int) -> int:
        """The position of a line, from 1, and a column in bytes of UTF-8, as in a tree."""
        text = self.lines[line - 1]
        if not text.isascii():
            column = len(text.encode(errors="replace")[:column].decode(errors="replace"))
        return self._starts[line - 1] + column

    def start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def of(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node."""
        return self.source[self.start(node) : self.end(node)]

    @property
    def is_changed(self) -> bool:
        return bool(self._changes)

    def insert(self, node: ast.expr | ast.stmt, new: str) -> None:
        """Insert text before a node."""
        self.replace(self.start(node), self.start(node), new)

    def replace(self, start: int, end: int, new: str) -> None:
        self._changes.append((start, end, new))

    def changed(self) -> str:
        """The text with all changes."""
        parts, position = [], 0
        for start, end, new in sorted(self._changes, key=lambda change: change[:2]):
            parts += [self.source[position:start], new]
            position = end
        return "".join([*parts, self.source[position:]])


# -- added lines -----------------------------------------------------------------------------------


class Imports:
    """Statements that import names, several from one module together; and `torch`, if the lines
    that are added need it."""

    def __init__(self, statements: Iterable[str], *, torch: bool) -> None:
        self.torch = torch
        self.modules: dict[str, None] = {}
        self.members: dict[str, list[str]] = {}
        for statement in statements:
            before, _, names = statement.partition(" import ")
            if names:
                self.members.setdefault(before, []).append(names)
            else:
                self.modules[statement] = None

    @property
    def lines(self) -> list[str]:
        modules = {"import torch": None} | self.modules if self.torch else self.modules
        return [*modules, *(f"{m} import {', '.join(n)}" for m, n in self.members.items())]

    @property
    def notices(self) -> list[str]:
        """What the program uses without an import, in sentences."""
        modules = [statement.removeprefix("import ") for statement in self.modules]
        sentences = [f"{_list(modules)} imported."] if modules else []
        for statement, names in self.members.items():
            sentences.append(f"{_list(names)} imported from `{statement.removeprefix('from ')}`.")
        return sentences


def _list(names: list[str]) -> str:
    quoted = [f"`{name}`".replace(" as ", "` as `") for name in names]
    words = ", ".join(quoted[:-1]) + " and " + quoted[-1] if len(quoted) > 1 else quoted[0]
    return f"{words} {'were' if len(quoted) > 1 else 'was'}"


def input_line(name: str, value: Any) -> str:
    """The line that makes a name an input."""
    return f"{name} = torch.tensor({value!r}, requires_grad=True)"


def opening(tree: ast.Module) -> list[ast.stmt]:
    """The docstring and the imports at the beginning, on lines of their own."""
    end = 0
    for statement in tree.body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not (isinstance(statement, ast.Import | ast.ImportFrom) or (is_text and not end)):
            break
        end += 1
    while 0 < end < len(tree.body) and tree.body[end].lineno == tree.body[end - 1].end_lineno:
        end -= 1
    return tree.body[:end]


def imports_torch(statements: list[ast.stmt]) -> bool:
    """Whether these statements bind the name torch to the module."""
    aliases = [a for s in statements if isinstance(s, ast.Import) for a in s.names]
    return any(a.name.split(".")[0] == "torch" and not a.asname for a in aliases)
