"""A program's text, with changes to be made to it at positions of its syntax tree."""

from __future__ import annotations

import ast
from itertools import accumulate

#: The most characters of a text in which inputs and notations are looked for. Longer ones are whole
#: programs, which lack imports at most; the rest takes longer than parsing, and grows faster.
MAX_COMPLETED = 10_000


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
