"""Changes of a program that give a tensor its `.grad`: what makes it a leaf, or keeps it."""

from __future__ import annotations

import ast
import re

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.updates import CONSTRUCTORS, in_place

#: Functions that make a tensor and take requires_grad.
_CREATORS = {
    *("tensor", "randn", "rand", "zeros", "ones", "full", "empty", "arange", "linspace"),
    *("logspace", "eye", "randint", "normal"),
}


def retain(draft: Draft, line: int | None, name: str) -> None:
    """Call retain_grad() right after the line that computes a tensor."""
    statement = draft.statement(line)
    target = draft.assigned_name(line)
    if statement is None or not target:
        return
    for late in draft.nodes(ast.Expr):
        call = late.value
        if isinstance(call, ast.Call) and draft.of(call.func) == f"{name}.retain_grad":
            draft.delete(late)
    draft.insert_after(statement, f"{target}.retain_grad()")


def read_from_whole(draft: Draft, line: int, name: str) -> None:
    """`x.grad[0]` in place of `x[0].grad`."""
    for read in draft.nodes(ast.Attribute, line):
        part = read.value
        if read.attr == "grad" and isinstance(part, ast.Subscript) and draft.of(part) == name:
            whole = draft.of(part.value)
            draft.replace(read, f"{whole}.grad{draft.of(part)[len(whole) :]}")


def require_at_the_end(draft: Draft, line: int, leaf_line: int) -> None:
    """Make what a line computes the leaf, not the tensor of `leaf_line` that it computes from:
    `w = (torch.randn(3) * 0.1).requires_grad_()`."""
    result, leaf = draft.statement(line), draft.statement(leaf_line)
    if not isinstance(result, ast.Assign) or not isinstance(leaf, ast.Assign):
        return
    for call in ast.walk(leaf.value):
        if not isinstance(call, ast.Call):
            continue
        value = _outermost(draft, call) if result is leaf else result.value
        if called_name(call) == "Parameter" and len(call.args) == 1 and not call.keywords:
            draft.unwrap(call, call.args[0])
            draft.surround(value, f"{draft.of(call.func)}(", ")")
            return
        for keyword in call.keywords:
            if keyword.arg == "requires_grad" and draft.of(keyword.value) == "True":
                draft.delete_argument(call, keyword)
                loose = not isinstance(value, ast.Call | ast.Name | ast.Attribute | ast.Subscript)
                before, after = ("(", ")") if loose else ("", "")
                draft.surround(value, before, f"{after}.requires_grad_()")
                return


def _outermost(draft: Draft, node: ast.expr) -> ast.expr:
    """The whole expression around a node: one item, if it is one of a list."""
    parent = draft.parents.get(node)
    inside = ast.Call | ast.Attribute | ast.BinOp | ast.UnaryOp | ast.Subscript
    return _outermost(draft, parent) if isinstance(parent, inside) else node


def rename_result(draft: Draft, line: int, name: str) -> str:
    """Give what a line computes another name than that of the leaf; the new name, or ""."""
    statement = draft.statement(line)
    names = list(draft.nodes(ast.Name))
    new = f"{name}2"
    in_block = statement is not None and draft.path_to(statement)
    is_known = any(n.id == new for n in names) or not isinstance(statement, ast.Assign)
    if in_block or is_known or draft.assigned_name(line) != name:
        return ""
    read = {id(a.value) for a in draft.nodes(ast.Attribute) if a.attr == "grad"}
    assert isinstance(statement, ast.Assign)
    for node in names:
        is_target = node is statement.targets[0]
        is_later = node.lineno > (statement.end_lineno or statement.lineno) and id(node) not in read
        if node.id == name and (is_target or is_later):
            draft.replace(node, new)
    return new


def require(draft: Draft, line: int | None, name: str, integers: bool = False) -> bool:
    """Create a tensor with requires_grad=True; whether that could be written."""
    statement = draft.statement(line)
    if not isinstance(statement, ast.Assign) or draft.assigned_name(line) != name:
        return False
    call = statement.value
    if not isinstance(call, ast.Call) or called_name(call) not in _CREATORS or not call.args:
        draft.insert_after(statement, f"{name}.requires_grad_()")
        return True
    given = next((k for k in call.keywords if k.arg == "requires_grad"), None)
    if given is not None:
        draft.replace(given, "requires_grad=True")
    else:
        add_argument(draft, call, "requires_grad=True")
    if integers and called_name(call) == "tensor":
        for node in ast.walk(call.args[0]):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                draft.surround(node, "", ".")
    return True


def require_earlier(draft: Draft, first_use: int, since: int) -> None:
    """Set requires_grad before the line that first uses a tensor."""
    setting, use = draft.statement(since), draft.statement(first_use)
    if setting is None or use is None or not re.search(r"\brequires_grad", draft.of(setting)):
        return
    if draft.path_to(setting) == draft.path_to(use) and setting is not use:
        draft.insert_before(use, draft.of(setting))
        draft.delete(setting)


def move(draft: Draft, read: int, line: int, *, after: bool) -> None:
    """Move the statement that reads `.grad` before or after another one of the same block."""
    reading, other = draft.statement(read), draft.statement(line)
    if not isinstance(reading, ast.Expr) or other is None or reading is other:
        return
    if draft.path_to(reading) == draft.path_to(other):
        insert = draft.insert_after if after else draft.insert_before
        insert(other, draft.of(reading))
        draft.delete(reading)


def unfreeze(draft: Draft, line: int) -> None:
    """Leave out the line that sets requires_grad to False, and the loop that does only that."""
    statement = draft.statement(line)
    if not isinstance(statement, ast.Assign | ast.Expr):
        return
    around = draft.path_to(statement)
    if around and isinstance(around[-1], ast.For) and around[-1].body == [statement]:
        draft.delete(around[-1])
    elif "requires_grad" in draft.of(statement):
        draft.delete(statement)


def parameter_for_buffer(draft: Draft, name: str) -> None:
    """`self.scale = nn.Parameter(x)` for `self.register_buffer("scale", x)`."""
    for statement in draft.nodes(ast.Expr):
        call = statement.value
        if not isinstance(call, ast.Call) or called_name(call) != "register_buffer":
            continue
        name_given = call.args[0] if len(call.args) == 2 else None
        if isinstance(name_given, ast.Constant) and name_given.value == name:
            assert isinstance(call.func, ast.Attribute)
            owner, value = draft.of(call.func.value), draft.of(call.args[1])
            draft.replace(statement, f"{owner}.{name} = torch.nn.Parameter({value})")


def start_from(draft: Draft, line: int | None, name: str) -> None:
    """Start backward from another tensor."""
    call = draft.call(line, "backward")
    if call is not None and isinstance(call.func, ast.Attribute):
        draft.replace(call.func.value, name)


def drop_requires_grad(draft: Draft, name: str) -> None:
    """Leave out `loss.requires_grad = True`, which only hides that loss has no history."""
    for statement in draft.nodes(ast.Assign):
        if [draft.of(target) for target in statement.targets] == [f"{name}.requires_grad"]:
            draft.delete(statement)
    for call in draft.nodes(ast.Expr):
        if draft.of(call).startswith(f"{name}.requires_grad_("):
            draft.delete(call)


def in_place_on(draft: Draft, line: int | None) -> str:
    """The update of a line, written in place."""
    statement = draft.statement(line)
    return in_place(draft, statement) if isinstance(statement, ast.Assign) else ""


def add_argument(draft: Draft, call: ast.Call, argument: str) -> None:
    """Add a keyword argument to a call."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if given:
        draft.surround(max(given, key=_end), "", f", {argument}")
    else:
        draft.replace(call, f"{draft.of(call.func)}({argument})")


def is_created_here(draft: Draft, line: int | None) -> bool:
    """Whether a line makes a tensor of numbers: `x = torch.tensor(…)`."""
    statement = draft.statement(line)
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Call) and called_name(value) in _CREATORS | CONSTRUCTORS


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0
