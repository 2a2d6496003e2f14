"""Building new nodes, and remembering the places they speak of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

N = TypeVar("N", bound=ast.AST)


@dataclass(frozen=True)
class Place:
    """Where in the program a value was made: lines from 1, columns from 0.

    `scope` is the function it stands in ("forward", "Net.forward"), empty at the top level;
    `text` the source of the expression.
    """

    line: int
    column: int
    text: str
    scope: str


class Builder(ast.NodeTransformer):
    """What rewriting statements and rewriting expressions have in common."""

    def __init__(self, source: str) -> None:
        self.lines = source.encode(errors="replace").split(b"\n")
        self.places: list[Place] = []
        self.scopes: list[str] = []

    def visited(self, node: ast.expr) -> ast.expr:
        return cast(ast.expr, self.visit(node))

    def place(self, node: Any) -> ast.expr:
        """The index of a new Place for this node, as a constant."""
        text = ""
        if node.lineno == node.end_lineno and node.lineno <= len(self.lines):
            raw = self.lines[node.lineno - 1][node.col_offset : node.end_col_offset]
            text = raw.decode(errors="replace")[:120]
        scope = ".".join(self.scopes)
        self.places.append(Place(node.lineno, node.col_offset, text, scope))
        return ast.Constant(len(self.places) - 1)

    def call(self, helper: str, at: ast.AST, *args: ast.expr) -> ast.Call:
        """`.helper(*args)`, standing where `at` stands."""
        call = ast.Call(ast.Name(f".{helper}", ast.Load()), list(args), [])
        return ast.copy_location(call, at)

    def statement(self, helper: str, at: ast.AST, *args: ast.expr) -> ast.stmt:
        return ast.copy_location(ast.Expr(self.call(helper, at, *args)), at)

    def noted(self, at: ast.expr, new: ast.expr) -> ast.expr:
        """`new`, shown to the watcher as the value of the expression that stood at `at`."""
        return self.call("note", at, self.place(at), new)


def is_call_of(helper: str, node: Any) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == f".{helper}"
    )


def names_set(target: ast.expr) -> list[str]:
    """The names an assignment to this target sets or changes: `x[0]` and `x.data` change x."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple | ast.List):
        return [name for element in target.elts for name in names_set(element)]
    if isinstance(target, ast.Starred):
        return names_set(target.value)
    return list(roots(target))


def roots(node: ast.expr) -> Iterator[str]:
    """The variable at the left end of `x.data.mul_(2)`, if there is one."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        yield node.id
