"""A change in place, written so that it makes a new tensor instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.run_analysis import RunAnalysis, parenthesised

_SIGNS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.Mod: "%",
    ast.FloorDiv: "//",
}


def rewrites(analysis: RunAnalysis, line: int) -> Iterator[tuple[str, str | None]]:
    """What to write on a line, or before it, and the program with that; the nicest first."""
    for change in (_augmented, _whole_slice, _method, _argument, _cloned):
        draft = analysis.draft()
        statement = draft.statement(line)
        written = change(draft, statement) if statement is not None else ""
        if written:
            yield written, draft.changed()


def _augmented(draft: Draft, statement: ast.stmt) -> str:
    """`x += y` as `x = x + y`."""
    if not isinstance(statement, ast.AugAssign) or type(statement.op) not in _SIGNS:
        return ""
    target, value = statement.target, draft.of(statement.value)
    if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Constant):
        return ""
    if isinstance(statement.value, ast.BinOp | ast.IfExp | ast.Lambda | ast.Compare | ast.BoolOp):
        value = f"({value})"
    new = f"{draft.of(target)} = {draft.of(target)} {_SIGNS[type(statement.op)]} {value}"
    draft.replace(statement, new)
    return f"`{new}`"


def _whole_slice(draft: Draft, statement: ast.stmt) -> str:
    """`x[:] = y` as `x = y`, and `x.copy_(y)` likewise."""
    new = ""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Subscript) and draft.of(target.slice) in (":", "..."):
            new = f"{draft.of(target.value)} = {draft.of(statement.value)}"
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and called_name(call) == "copy_" and call.args:
        target = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        new = f"{draft.of(target)} = {draft.of(call.args[0])}"
    if new:
        draft.replace(statement, new)
    return f"`{new}`" if new else ""


def _method(draft: Draft, statement: ast.stmt) -> str:
    """`x.mul_(2)` as `x = x.mul(2)`, and `relu_(x)` as `relu(x)`."""
    calls = [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
        and (name := getattr(node.func, "attr", getattr(node.func, "id", ""))).endswith("_")
        and not name.endswith("__")
        and name not in ("copy_", "zero_", "fill_")
    ]
    if not calls:
        return ""
    function = calls[0].func
    new = f"{draft.of(function)[:-1]}{draft.of(calls[0])[len(draft.of(function)) :]}"
    if isinstance(statement, ast.Expr) and statement.value is calls[0]:
        target = calls[0].args[0] if calls[0].args else None
        if isinstance(function, ast.Attribute):
            is_module = draft.of(function.value) in ("torch", "F", "torch.nn.functional")
            target = target if is_module else function.value
        if not isinstance(target, ast.Name | ast.Attribute):
            return ""
        new = f"{draft.of(target)} = {new}"
        draft.replace(statement, new)
    else:
        draft.replace(function, draft.of(function)[:-1])
    return f"`{new}`"


def _argument(draft: Draft, statement: ast.stmt) -> str:
    """Without inplace=True: in the call on this line, or in the layers of the program."""
    here = _inplace(statement)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if here and isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Name):
        plain = [keyword for keyword in call.keywords if keyword not in here]
        new = ast.unparse(ast.Call(call.func, call.args, plain))
        draft.replace(statement, f"{call.args[0].id} = {new}")
        return f"`{call.args[0].id} = {new}`, without inplace=True"
    everywhere = [k for s in ast.walk(draft.tree) for k in _own_inplace(s)]
    for keyword in here or everywhere:
        draft.replace(keyword.value, "False")
    where = "" if here else " where the layer is made"
    return f"`inplace=False`{where}" if here or everywhere else ""


def _inplace(statement: ast.stmt) -> list[ast.keyword]:
    return [keyword for node in ast.walk(statement) for keyword in _own_inplace(node)]


def _own_inplace(node: ast.AST) -> list[ast.keyword]:
    return [
        keyword
        for keyword in getattr(node, "keywords", ())
        if keyword.arg == "inplace" and getattr(keyword.value, "value", None) is True
    ]


def _cloned(draft: Draft, statement: ast.stmt) -> str:
    """`x = x.clone()` before the change."""
    changed = _changed(statement)
    if changed is None:
        return ""
    name = draft.of(changed)
    new = f"{name} = {parenthesised(name)}.clone()"
    draft.insert_before(statement, new)
    return f"`{new}` before the change"


def _changed(statement: ast.stmt) -> ast.expr | None:
    """The variable that a statement changes in place."""
    target: ast.expr | None = None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if not isinstance(target, ast.Subscript):
            return None
    elif isinstance(statement, ast.AugAssign):
        target = statement.target
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        target = function.value if isinstance(function, ast.Attribute) else None
    while isinstance(target, ast.Subscript):
        target = target.value
    return target if isinstance(target, ast.Name | ast.Attribute) else None


def clone_where_read(draft: Draft, line: int, name: str) -> bool:
    """Write `name.clone()` where a line reads this variable or item; whether it does."""
    statement = draft.statement(line)
    nodes = [
        node
        for node in (ast.walk(statement) if statement is not None else ())
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and draft.of(node) == name
    ]
    for node in nodes:
        draft.replace(node, f"{name}.clone()")
    return bool(nodes)
