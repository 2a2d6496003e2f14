"""Rewriting generator functions that have something to do when they are closed.

`def g(x): body` becomes a function of two: `def g(x): def .body(x): body` with the last line
`return (yield from .held(.body(x)))`; see `guard.generators`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from explorer.language.rewrite.expressions import ExpressionRewriter

_BODY = ".body"


def own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes of these statements, without those inside functions and classes in them."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(node)


def is_held(function: ast.FunctionDef) -> bool:
    """Whether this is a generator function with a `with` or a `finally`."""
    nodes = [*own_nodes(function.body)]
    has_end = any(
        isinstance(node, ast.With) or (isinstance(node, ast.Try) and bool(node.finalbody))
        for node in nodes
    )
    return has_end and any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes)


def held_body(
    rewriter: ExpressionRewriter, function: ast.FunctionDef, body: list[ast.stmt]
) -> list[ast.stmt]:
    """The body of such a function; `body` is its own, rewritten."""
    args = function.args
    given = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    names = [arg.arg for arg in given if arg is not None]
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    inner = ast.FunctionDef(_BODY, arguments, body, [], None, None)
    inner.type_params = []  # type: ignore[attr-defined]  # since Python 3.12
    call = ast.Call(ast.Name(_BODY, ast.Load()), [ast.Name(name, ast.Load()) for name in names], [])
    held = ast.YieldFrom(rewriter.call("held", function, call))
    new: list[ast.stmt] = [inner, ast.Return(held)]
    return [ast.copy_location(statement, function) for statement in new]
