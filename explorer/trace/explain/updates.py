"""Updates of a tensor that give its name to a new one: `w = w - lr * w.grad`."""

from __future__ import annotations

import ast

from explorer.program.draft import Draft, called_name

#: Functions that make a tensor with the values of their argument, but not its history.
CONSTRUCTORS = {
    "tensor",
    "as_tensor",
    "Tensor",
    "FloatTensor",
    "from_numpy",
    "Parameter",
    "Variable",
}


def is_update(draft: Draft, statement: ast.stmt) -> bool:
    """Whether this is `w = w - … w.grad …`: an update that gives the name to a new tensor."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    name = draft.of(statement.targets[0])
    return _first(draft, statement.value) == name and any(
        node.attr == "grad" and _plain(draft, node.value) == name
        for node in ast.walk(statement.value)
        if isinstance(node, ast.Attribute)
    )


def in_place(draft: Draft, statement: ast.stmt) -> str:
    """An update, written so that it changes the tensor itself."""
    assert isinstance(statement, ast.Assign)
    name, value = draft.of(statement.targets[0]), _bare(statement.value)
    is_sum = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub | ast.Add)
    if isinstance(value, ast.BinOp) and is_sum and _plain(draft, value.left) == name:
        sign = "-" if isinstance(value.op, ast.Sub) else "+"
        return f"{name} {sign}= {draft.of(value.right)}"
    return f"{name}.copy_({draft.of(value)})"


def _bare(value: ast.expr) -> ast.expr:
    """An expression without the conversions around it: w - g of `(w - g).detach()`."""
    while isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr in (
            "detach", "clone", "requires_grad_", "data",
        ):  # fmt: skip
            value = value.func.value
        elif called_name(value) in CONSTRUCTORS and value.args:
            value = value.args[0]
        else:
            break
    return value


def _first(draft: Draft, value: ast.expr) -> str:
    """The name of the tensor that a sum or difference begins with."""
    value = _bare(value)
    while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub | ast.Add):
        value = value.left
    return _plain(draft, value)


def _plain(draft: Draft, node: ast.expr) -> str:
    """The text of an expression without `.data` and `.detach()`."""
    node = _bare(node)
    if isinstance(node, ast.Attribute) and node.attr == "data":
        node = node.value
    return draft.of(node)


def updates_around(draft: Draft, statement: ast.stmt) -> list[ast.stmt]:
    """The statement, and the updates directly before and after it."""
    for parent in ast.walk(draft.tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and statement in block:
                first = last = block.index(statement)
                while first > 0 and is_update(draft, block[first - 1]):
                    first -= 1
                while last + 1 < len(block) and is_update(draft, block[last + 1]):
                    last += 1
                return block[first : last + 1]
    return [statement]
