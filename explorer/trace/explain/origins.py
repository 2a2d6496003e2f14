"""Which parts of a program's text a value may come from, by the names that are given and read."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Container, Iterator

from explorer.program.draft import Draft

Function = ast.FunctionDef | ast.Lambda
#: Methods that add to a list, a set or a dict.
ADDING = ("append", "extend", "insert", "add", "update")


def origins(draft: Draft, line: int, ran: Container[int]) -> list[ast.AST]:
    """The nodes of the text from which the values on a line may come: its own, those of what is
    assigned to the names it reads, added to a list of that name, returned by a function of that
    name, and where a function is used whose parameter it reads; and so on. `ran` has the lines of
    the statements that have run."""
    givers = _givers(draft)
    start = draft.statement(line)
    waiting: list[ast.AST] = [] if start is None else [start]
    found: dict[int, ast.AST] = {}
    while waiting:
        part = waiting.pop()
        if id(part) not in found and _statement_around(draft, part).lineno in ran:
            found[id(part)] = part
            for node in ast.walk(part):
                waiting += _given_to(draft, node, givers)
    return list({id(node): node for part in found.values() for node in ast.walk(part)}.values())


def _given_to(
    draft: Draft, node: ast.AST, givers: dict[str, list[tuple[ast.AST | None, ast.AST]]]
) -> Iterator[ast.AST]:
    """The parts of the text that may give a name or an attribute its value."""
    functions = list(_functions_around(draft, node))
    if isinstance(node, ast.Name):
        for function in functions:
            if node.id in {argument.arg for argument in ast.walk(function.args)
                           if isinstance(argument, ast.arg)}:  # fmt: skip
                yield from _uses(draft, function) if node.id != "self" else ()
                return
    for scope, part in givers.get(_key(node), ()):
        if scope is None or scope in functions:
            yield part


def _givers(draft: Draft) -> dict[str, list[tuple[ast.AST | None, ast.AST]]]:
    """By name: the parts of the text that may give it a value, each with its function if only that
    can read it."""
    givers: dict[str, list[tuple[ast.AST | None, ast.AST]]] = defaultdict(list)
    for node in draft.nodes(ast.expr):
        if isinstance(getattr(node, "ctx", None), ast.Store):
            function = next(_functions_around(draft, node), None)
            is_local = isinstance(node, ast.Name) and not _is_shared(function, node.id)
            givers[_key(node)].append((function if is_local else None, _part_around(draft, node)))
        elif isinstance(node, ast.Attribute) and node.attr in ADDING:
            givers[_key(node.value)].append((None, _part_around(draft, node)))
    for returned in draft.nodes(ast.Return):
        for around in draft.path_to(returned):
            if isinstance(around, ast.FunctionDef | ast.ClassDef):
                givers[around.name].append((None, returned))
                givers[f".{around.name}"].append((None, returned))
    return givers


def _key(node: ast.AST) -> str:
    """A name, or an attribute of any object; of an item, those of the whole."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _uses(
    draft: Draft, function: Function, seen: frozenset[Function] = frozenset()
) -> Iterator[ast.AST]:
    """The statements that call a function, or pass it on; functions in `seen` are being looked
    at."""
    if isinstance(function, ast.Lambda):
        yield _part_around(draft, function)
        return
    for node in draft.nodes(ast.expr):
        if _key(node) in (function.name, f".{function.name}"):
            yield _part_around(draft, node)
            maker = next(_functions_around(draft, node), None)
            is_returned = isinstance(draft.parents.get(node), ast.Return)
            seen |= {function}
            if is_returned and isinstance(maker, ast.FunctionDef) and maker not in seen:
                yield from _uses(draft, maker, seen)


def _functions_around(draft: Draft, node: ast.AST) -> Iterator[Function]:
    """The functions around a node, the innermost first."""
    around = draft.parents.get(node)
    while around is not None:
        if isinstance(around, Function):
            yield around
        around = draft.parents.get(around)


def _part_around(draft: Draft, node: ast.AST) -> ast.AST:
    """The statement around a node; of a compound one, only the part of its header."""
    while not isinstance(parent := draft.parents[node], ast.stmt):
        node = parent
    if isinstance(parent, ast.For):
        return parent.iter
    return node if hasattr(parent, "body") else parent


def _statement_around(draft: Draft, node: ast.AST) -> ast.stmt:
    while not isinstance(node, ast.stmt):
        node = draft.parents[node]
    return node


def _is_shared(function: Function | None, name: str) -> bool:
    """Whether a function gives a name to others as well: by `global` or `nonlocal`."""
    return function is not None and any(
        name in node.names
        for node in ast.walk(function)
        if isinstance(node, ast.Global | ast.Nonlocal)
    )
