"""Where the loops and blocks of a program are, and which names they read and assign."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explorer.program.draft import Draft, called_name

Loop = ast.For | ast.While


def loops_around(
    draft: Draft, line: int | None, searched: set[ast.Call] | None = None
) -> list[Loop]:
    """The loops that run this line, the outermost first; of a line in a function, also those that
    call it. Calls that were `searched` are not followed again: in a file of classes, each
    `super().__init__()` may be the call of any `__init__`."""
    statement = draft.statement(line)
    if statement is None:
        return []
    searched = set() if searched is None else searched
    around = draft.path_to(statement)
    functions = [node for node in around if isinstance(node, ast.FunctionDef)]
    if not functions:
        return [node for node in around if isinstance(node, Loop)]
    function = functions[-1]
    inside = around.index(function)
    loops = [node for node in around[inside:] if isinstance(node, Loop)]
    owner = around[inside - 1] if inside else None
    for call in _calls_of(draft, function.name, owner):
        if call in searched:
            continue
        searched.add(call)
        outer = loops_around(draft, call.lineno, searched)
        if outer:
            return [*outer, *loops]
    return loops


def _calls_of(draft: Draft, name: str, owner: ast.stmt | None) -> Iterator[ast.Call]:
    """The calls of a function, or of an instance of its class if it is `forward`."""
    names = {name}
    if isinstance(owner, ast.ClassDef) and name in ("forward", "__call__"):
        names |= {
            target.id
            for assign in draft.nodes(ast.Assign)
            if isinstance(assign.value, ast.Call) and called_name(assign.value) == owner.name
            for target in assign.targets
            if isinstance(target, ast.Name)
        }
    return (call for call in draft.nodes(ast.Call) if called_name(call) in names)


def contains(outer: ast.stmt, line: int | None) -> bool:
    """Whether a line belongs to a compound statement, its header included."""
    return line is not None and outer.lineno <= line <= (outer.end_lineno or outer.lineno)


def block_of(draft: Draft, statement: ast.stmt) -> list[ast.stmt]:
    """The statements among which this one stands."""
    for parent in ast.walk(draft.tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and any(item is statement for item in block):
                return block
    return [statement]


def expressions_read(draft: Draft, statement: ast.stmt) -> list[str]:
    """The names, attributes and items that a statement reads, as typed; of a compound one, those
    in its header."""
    header = header_of(statement)
    nodes = [n for part in header for n in ast.walk(part)]
    read = [
        draft.of(node)
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        and isinstance(node.ctx, ast.Load)
    ]
    if isinstance(statement, ast.AugAssign):
        read.append(draft.of(statement.target))
    return list(dict.fromkeys(read))


def header_of(statement: ast.stmt) -> list[ast.AST]:
    """A simple statement itself; of a compound one, the expressions in its first line."""
    if isinstance(statement, ast.For):
        return [statement.iter]
    if isinstance(statement, ast.While | ast.If):
        return [statement.test]
    return [] if hasattr(statement, "body") else [statement]


def targets_of(statement: ast.stmt) -> list[ast.expr]:
    """What a statement assigns to; the parts of a tuple one by one."""
    if isinstance(statement, ast.Assign):
        pending = list(statement.targets)
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign | ast.For):
        pending = [statement.target]
    else:
        return []
    targets = []
    while pending:
        target = pending.pop(0)
        if isinstance(target, ast.Tuple | ast.List):
            pending = [*target.elts, *pending]
        else:
            targets.append(target)
    return targets


def assignments(draft: Draft, text: str) -> list[ast.stmt]:
    """The statements that assign to this name, attribute or item, in the order of the text."""
    assigning = (
        statement
        for statement in draft.nodes(ast.stmt)
        if any(draft.of(target) == text for target in targets_of(statement))
    )
    return sorted(assigning, key=lambda statement: statement.lineno)
