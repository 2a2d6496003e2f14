"""How a program carries values from one iteration of a loop into the next: where it keeps them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from explorer import limits
from explorer.program.draft import Draft
from explorer.trace.explain.carried_repairs import Carried, appends
from explorer.trace.explain.earlier_graph import EarlierGraph, Entry
from explorer.trace.explain.loops import (
    Loop,
    assignments,
    contains,
    expressions_read,
    header_of,
    targets_of,
)
from explorer.trace.recording.objects import fields_of, is_own_object, join_path, named_modules

#: Operations that take the mean of a total, or scale it.
SCALING = frozenset(["AddBackward0", "DivBackward0", "MulBackward0", "MeanBackward0"])


def carried_values(earlier: EarlierGraph, draft: Draft, loop: Loop) -> list[Carried]:
    """How the program keeps the tensors through which a pass enters an earlier graph."""
    values = (_carried(earlier, entry, draft, loop) for entry in earlier.entries)
    known = [value for value in values if value is not None]
    return sorted(known, key=lambda value: _position(value.text, draft, loop))


def _position(text: str, draft: Draft, loop: Loop) -> tuple[int, int]:
    """Where a loop first assigns to a name."""
    return min(
        (
            (target.lineno, target.col_offset)
            for statement in assignments(draft, text)
            for target in targets_of(statement)
            if contains(loop, statement.lineno) and draft.of(target) == text
        ),
        default=(0, 0),
    )


def _carried(earlier: EarlierGraph, entry: Entry, draft: Draft, loop: Loop) -> Carried | None:
    made, names = earlier.made_line(entry), earlier.names(entry.node)
    if made is not None and _is_outside(made, draft, loop):
        text = next((name for name in names if name.isidentifier()), "")
        return Carried(entry, text, is_made_before=True) if text else None
    for name in earlier.names_around(entry):
        kept = _kept_as(name, earlier.analysis.variables, draft, loop)
        if kept is not None:
            break
    else:
        kept = _kept_in_list(earlier, entry, draft) or _kept_in_attribute(
            earlier, entry, draft, loop
        )
    if kept is None:
        return None
    text, form = kept
    adding = _adding(text, draft, loop) if _is_summed(earlier, entry) else None
    start = _start(text, draft, loop) if adding is not None or form == "items" else None
    return Carried(entry, text, False, form, adding, start)


def _kept_as(
    name: str, variables: Mapping[str, Any], draft: Draft, loop: Loop
) -> tuple[str, str] | None:
    """The variable or attribute with this name, if an iteration reads what an earlier one assigned;
    and whether that is a "tensor", a "tuple", a "list", or the "items" appended to a list."""
    base, bracket, _ = name.partition("[")
    kind = type(variables.get(base)).__name__
    if bracket and kind in ("list", "deque") and appends(draft, base):
        return base, "items"
    if bracket and kind == "dict":
        typed = {draft.of(t): t for s in draft.nodes(ast.Assign) for t in targets_of(s)}
        return next(((t, "tensor") for t in typed if t.replace('"', "'") == name), None)
    if base.isidentifier() and is_carried(base, loop):
        return base, ("list" if kind == "list" else "tuple") if bracket else "tensor"
    attribute = base.partition(".")[2]
    if not attribute.isidentifier() or not assignments(draft, base):
        return None
    owner, several = _owner(attribute, variables)
    if any(isinstance(node, ast.ClassDef) for node in draft.path_to(loop)):
        return base, several or "tensor"
    return (f"{owner}.{attribute}", several) if owner else None


def _kept_in_list(earlier: EarlierGraph, entry: Entry, draft: Draft) -> tuple[str, str] | None:
    """A list that contains the tensor."""
    for name, value in list(earlier.analysis.variables.items())[: limits.MOST_SEARCHED_VARIABLES]:
        if _holds(value, entry.node) and appends(draft, name):
            return name, "items"
    return None


def _kept_in_attribute(
    earlier: EarlierGraph, entry: Entry, draft: Draft, loop: Loop
) -> tuple[str, str] | None:
    """An attribute that is read where the tensor was used."""
    statement = draft.statement(earlier.read_line(entry))
    variables = earlier.analysis.variables
    for text in expressions_read(draft, statement) if statement is not None else ():
        name, _, attribute = text.partition(".")
        owner = variables.get(name)
        value = fields_of(owner).get(attribute)
        if _holds(value, entry.node):
            return text, "items"
        kept = _kept_as(text, variables, draft, loop) if attribute else None
        if kept is not None:
            return kept
    return None


def is_carried(name: str, loop: Loop) -> bool:
    """Whether an iteration of a loop reads a name before it assigns to it."""
    events = sorted(_uses(name, loop))
    is_assigned = any(assigned for _, _, assigned in events)
    return is_assigned and not events[0][2]


def _uses(name: str, loop: Loop) -> Iterator[tuple[int, int, bool]]:
    """The statements of a loop's body that read (False) or assign to (True) a name, in the order
    in which they do."""
    for statement in loop.body:
        for node in ast.walk(statement):
            if not isinstance(node, ast.stmt):
                continue
            own = [n for part in header_of(node) for n in ast.walk(part)]
            for n in own:
                is_name = isinstance(n, ast.Name) and n.id == name
                is_stored = isinstance(getattr(n, "ctx", None), ast.Store)
                if is_name and (not is_stored or isinstance(node, ast.AugAssign)):
                    yield node.lineno, 0, False
            for target in targets_of(node):
                owner = target
                while isinstance(owner, ast.Subscript):
                    owner = owner.value
                if isinstance(owner, ast.Name) and owner.id == name:
                    yield node.lineno, 1, True


def _holds(value: Any, node: Any) -> bool:
    """Whether a list contains the result of a node."""
    return type(value).__name__ in ("list", "deque") and any(
        isinstance(item, torch.Tensor) and item.requires_grad and _node(item) is node
        for item in list(value)[: limits.MOST_SEARCHED_ITEMS]
    )


def _node(tensor: torch.Tensor) -> Any:
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def _owner(attribute: str, variables: Mapping[str, Any]) -> tuple[str, str]:
    """The variable whose object has a tensor, or several, in this attribute ("net"); and whether
    that is a "tensor", a "tuple" or a "list"."""
    for name, value in list(variables.items())[: limits.MOST_SEARCHED_VARIABLES]:
        parts = named_modules(value) if isinstance(value, nn.Module) else [("", value)]
        for path, part in parts:
            if not is_own_object(part):
                continue
            own = fields_of(part).get(attribute)
            if isinstance(own, torch.Tensor):
                return join_path(name, path), "tensor"
            if type(own) in (tuple, list):
                return join_path(name, path), type(own).__name__
    return "", ""


def _is_outside(line: int, draft: Draft, loop: Loop) -> bool:
    """Whether a line ran before the loop: it is not in it, nor in a function that it calls."""
    if contains(loop, line):
        return False
    statement = draft.statement(line)
    own = [node for node in draft.path_to(loop) if isinstance(node, ast.FunctionDef)]
    around = draft.path_to(statement) if statement is not None else []
    functions = [node for node in around if isinstance(node, ast.FunctionDef)]
    return functions == own and line < loop.lineno


def _is_summed(earlier: EarlierGraph, entry: Entry) -> bool:
    """Whether the result is a sum of this tensor and others, perhaps scaled."""
    node = earlier.later.roots[0].grad_fn
    pending, visited = [node] if node is not None else [], set()
    while pending:
        node = pending.pop()
        if id(node) in visited or type(node).__name__ not in SCALING:
            continue
        if node is entry.user:
            return True
        visited.add(id(node))
        pending += [following for following, _ in node.next_functions if following is not None]
    return False


def _adding(text: str, draft: Draft, loop: Loop) -> ast.stmt | None:
    """The statement of a loop that adds to a total: `total += loss`, `total = total + loss`."""
    for statement in assignments(draft, text):
        if not contains(loop, statement.lineno):
            continue
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
            return statement
        value = statement.value if isinstance(statement, ast.Assign) else None
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            is_added_to = text in (draft.of(value.left), draft.of(value.right))
            if is_added_to:
                return statement
    return None


def _start(text: str, draft: Draft, loop: Loop) -> ast.stmt | None:
    """The statement before a loop that starts a total with a number."""
    for statement in reversed(assignments(draft, text)):
        if isinstance(statement, ast.Assign) and statement.lineno < loop.lineno:
            has_names = any(
                isinstance(node, ast.Name) and node.id != "torch"
                for node in ast.walk(statement.value)
            )
            return None if has_names else statement
    return None
