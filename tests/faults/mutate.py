"""Generates the small faults of a module that make it more permissive.

They leave out a check, a part of a condition or a wrapper's call, or make a number larger.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

#: One change: its description, and the node's replacement.
Change = tuple[str, ast.AST]


def faults(text: str) -> Iterator[tuple[str, str]]:
    """(what was changed, the changed module's text), one change at a time."""
    tree = ast.parse(text)
    for node, setter in list(_places(tree)):
        for what, new in _changes(node):
            setter(new)
            line = getattr(node, "lineno", 0)
            yield (
                f"{line}: {what}: {ast.unparse(node)[:70]}",
                ast.unparse(ast.fix_missing_locations(tree)),
            )
        setter(node)


def _places(
    tree: ast.AST, inside: bool = False
) -> Iterator[tuple[ast.AST, Callable[[ast.AST], None]]]:
    """Every node, and a function that replaces it."""
    for name, value in ast.iter_fields(tree):
        if isinstance(value, ast.AST):
            yield value, lambda new, n=name: setattr(tree, n, new)
            yield from _places(value)
        elif isinstance(value, list):
            for position, child in enumerate(value):
                if isinstance(child, ast.AST):
                    yield child, lambda new, v=value, p=position: v.__setitem__(p, new)
                    yield from _places(child)


#: Calls with one argument that check or rewrite it; a fault leaves them out.
WRAPPERS = {
    "transform", "target", "rewrite_block", "item", "read", "index", "require_numbers",
    "check_arrays", "limit_size", "without_addresses", "unwrap", "base",
}  # fmt: skip


def _changes(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Raise):
        yield "no raise", ast.Pass()
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "not called", ast.Pass()
    elif isinstance(node, ast.BoolOp):
        for left_out in range(len(node.values)):
            rest = [value for i, value in enumerate(node.values) if i != left_out]
            shorter = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
            yield f"without {ast.unparse(node.values[left_out])[:40]}", copy.deepcopy(shorter)
    elif isinstance(node, ast.If) and _refuses(node.body):
        yield "never", ast.If(ast.Constant(False), node.body, node.orelse)
    elif isinstance(node, ast.Return) and isinstance(
        node.value, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Call | ast.Constant
    ):
        value = node.value.value if isinstance(node.value, ast.Constant) else None
        if value is False or isinstance(node.value, ast.Compare | ast.BoolOp | ast.UnaryOp):
            yield "return True", ast.Return(ast.Constant(True))
    elif isinstance(node, ast.Call):
        called = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        if called in WRAPPERS and len(node.args) == 1 and not node.keywords:
            yield "not wrapped", node.args[0]
    elif isinstance(node, ast.comprehension):
        for left_out in range(len(node.ifs)):
            rest = [test for i, test in enumerate(node.ifs) if i != left_out]
            yield "no condition", ast.comprehension(node.target, node.iter, rest, 0)
    elif isinstance(node, ast.AnnAssign | ast.Assign):
        number = getattr(node.value, "value", None)
        if isinstance(number, int) and number > 1:
            new = copy.deepcopy(node)
            new.value = ast.Constant(number * 1000)
            yield "a thousand times", new


def _refuses(body: list[ast.stmt]) -> bool:
    """Whether a branch ends in a refusal: an exception, or `return False` or `None`."""
    last = body[-1]
    if isinstance(last, ast.Return):
        return last.value is None or ast.unparse(last.value) in ("False", "None")
    called = last.value if isinstance(last, ast.Expr) else None
    return isinstance(last, ast.Raise) or isinstance(called, ast.Call)
