"""Where the numbers of a program's leaves stand in its text, so that they can be changed there.

Nothing is executed. What the text means is decided by a run; a place that is found here is only an
offer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from explorer import limits
from explorer.program.notebook import without_commands
from explorer.program.parsing import tree_of

#: How deep lists are looked into, and how far each.
_DEPTH, _MOST = 2, 8
#: Calls around literals that leave them the numbers of a leaf.
_WRAPPERS = frozenset({"tensor", "Parameter", "Variable", "requires_grad_", "float", "double"})

Index = tuple[int, ...]


@dataclass(frozen=True)
class Literal:
    """A number in the text: `line` counts from 1, `column` and `end` count characters from 0.
    `index` is its place in the lists it stands in. `start` is the statement's line."""

    name: str
    line: int
    column: int
    end: int
    value: float
    text: str
    index: Index = ()
    start: int = 0

    @property
    def place(self) -> dict[str, int]:
        """Where it stands, as the browser's event `ax-drag` names it."""
        return {"line": self.line, "column": self.column, "end": self.end}


def leaf_literals(source: str) -> list[Literal]:
    """The numbers of assignments such as `a = torch.tensor([1.0, 2.0], requires_grad=True)`,
    outside of functions and loops; none if the text cannot be parsed."""
    if len(source) > limits.MAX_SOURCE:
        return []
    tree = tree_of(without_commands(source).code)
    return [] if tree is None else list(_assigned(tree, source.split("\n")))


def _assigned(tree: ast.Module, lines: list[str]) -> Iterator[Literal]:
    for statement in tree.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, numbers = statement.targets[0], _inside_calls(statement.value)
        if not isinstance(target, ast.Name) or numbers is None:
            continue
        for index, number in _numbers(numbers):
            line, last, last_bytes = number.lineno, number.end_lineno, number.end_col_offset
            if line != last or last_bytes is None or line > len(lines):
                continue
            encoded = lines[line - 1].encode()
            text = encoded[number.col_offset : last_bytes].decode(errors="replace")
            try:
                value = float(text)
            except ValueError:
                continue
            column = len(encoded[: number.col_offset].decode(errors="replace"))
            end = column + len(text)
            yield Literal(target.id, line, column, end, value, text, index, statement.lineno)


def _inside_calls(value: ast.expr) -> ast.expr | None:
    """What a leaf is made from; None if it is not made by the calls that change no number."""
    while isinstance(value, ast.Call):
        function = value.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name not in _WRAPPERS:
            return None
        if value.args:
            value = value.args[0]
        elif isinstance(function, ast.Attribute):
            value = function.value
        else:
            return None
        if not isinstance(value, ast.Call):
            return value
    return None


def _numbers(value: ast.expr, index: Index = ()) -> Iterator[tuple[Index, ast.expr]]:
    """The literals, with their signs, in a number or in nested lists of them."""
    if _is_number(value):
        yield index, value
    elif isinstance(value, ast.List) and len(index) < _DEPTH:
        for i, element in enumerate(value.elts[:_MOST]):
            yield from _numbers(element, (*index, i))


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        value = value.operand
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)
