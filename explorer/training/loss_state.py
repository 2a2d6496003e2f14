"""What a loss text changes in a program's variables, and whether it can be copied.

A snapshot of a run holds copies of the variables that changed since the setup. Where the loss
reads something that cannot be copied (a tensor with a graph, an iterator, an object of the
reader's own class), no snapshot is kept and the run is repeated from an earlier one instead.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from explorer.program.missing import MissingImport
from explorer.program.parsing import parse_tree
from explorer.trace.recording.objects import named_modules

#: Reading one of these attributes does not extend the graph.
DETACHED = {"detach", "item", "data", "shape", "dtype", "numpy", "tolist"}
#: Types compared by value.
PLAIN = (bool, int, float, complex, str, range, torch.Size, torch.dtype, torch.device)
#: Types of objects that do not change as long as they are the same object.
STABLE = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType, MissingImport)


class VariableWatch:
    """Watches a program's variables from the moment its setup has run."""

    def __init__(self, setup: str, loss: str, variables: Mapping[str, Any]) -> None:
        self.setup, self.loss = setup, loss
        # The values are held so that no new object can get the id of an old one.
        self.first = {name: (value, _fingerprint(value)) for name, value in variables.items()}

    @cached_property
    def names(self) -> tuple[set[str], set[str]]:
        """Those the loss may read before it has set them, and those it only reads detached. Most
        presses in a child need neither."""
        return _read_from_outside(parse_tree(self.setup), parse_tree(self.loss))

    def changed(self, variables: Mapping[str, Any]) -> dict[str, Any] | None:
        """Those the loss may read that have changed since the setup; None if some cannot be
        copied. What the loss sets before reading it is left out."""
        changed: dict[str, Any] = {}
        read, detached = self.names
        for name in (read | detached) & variables.keys():
            value = variables[name]
            if name in self.first and self.first[name][1] == _fingerprint(value):
                continue
            if _can_be_copied(value):
                changed[name] = value
            elif name in read or not isinstance(value, Tensor):
                return None
            else:
                changed[name] = value
        return changed


def _is_plain(value: Any) -> bool:
    """Whether this is a number, a string, None, or a list or tuple of them."""
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def _can_be_copied(value: Any, visited: set[int] | None = None) -> bool:
    """Numbers, text, tensors without a graph, and collections of these, each in one place: a copy
    of a list that is in two places would be two lists."""
    visited = set() if visited is None else visited
    if isinstance(value, Tensor):
        return not value.requires_grad
    if type(value) in (list, tuple, dict):
        if id(value) in visited:
            return type(value) is tuple
        visited.add(id(value))
        is_dict = type(value) is dict
        items = value.values() if is_dict else value
        return all(_can_be_copied(item, visited) for item in items) and (
            not is_dict or all(map(_is_plain, value))
        )
    return value is None or isinstance(value, bool | int | float | str)


def _fingerprint(value: Any, visited: set[int] | None = None) -> Any:
    """Equal for what is unchanged, and for nothing else. No code of the program compares it.

    A tensor counts as changed when it is a different one or was written to; parameters are saved
    separately.
    """
    visited = set() if visited is None else visited
    if isinstance(value, Tensor):
        return id(value), None if value.requires_grad else value._version
    if isinstance(value, nn.Module):
        own = [  # names with "_" are torch's: parameters, buffers, children, hooks
            (name, _fingerprint(item, visited))
            for _, module in named_modules(value)
            for name, item in vars(module).items()
            if not name.startswith("_")
        ]
        return id(value), own
    if type(value) in (list, tuple, dict):
        if id(value) in visited:  # it may contain itself
            return id(value)
        visited.add(id(value))
        keys = [k if _is_plain(k) else id(k) for k in value] if type(value) is dict else []
        items = value.values() if type(value) is dict else value
        return keys, [_fingerprint(item, visited) for item in items]
    if type(value) is slice:
        return [_fingerprint(part, visited) for part in (value.start, value.stop, value.step)]
    if isinstance(value, STABLE):
        return id(value)
    if value is None or isinstance(value, PLAIN):
        return type(value), value
    return object()  # an iterator, an object of the reader's class: may have changed inside


def _read_from_outside(setup: ast.Module, loss: ast.Module) -> tuple[set[str], set[str]]:
    """Names the loss may read before it has set them; and those it only reads detached."""
    read: set[str] = set()
    detached: set[str] = set()
    for tree in (setup, loss):
        for node in ast.walk(tree):
            if isinstance(node, ast.Global):
                read.update(node.names)
            elif isinstance(node, ast.FunctionDef | ast.Lambda):
                arguments = {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}
                _add(node, arguments | assigned_names(node), read, detached)
    _add_block(loss.body, set(), read, detached)
    return read, detached - read


def _add_block(body: list[ast.stmt], own: set[str], read: set[str], detached: set[str]) -> None:
    """Go through statements in order; what an assignment has set is the loss's own from then on."""
    own = set(own)
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        inner = own | assigned_names(statement.target) if isinstance(statement, ast.For) else own
        for field, value in ast.iter_fields(statement):
            if field in ("body", "orelse", "finalbody"):
                _add_block(value, inner, read, detached)
            else:
                for part in value if isinstance(value, list) else [value]:
                    if isinstance(part, ast.AST):
                        _add(part, own, read, detached)
        if isinstance(statement, ast.AugAssign):
            read |= assigned_names(statement.target) - own
        elif isinstance(statement, ast.Assign):
            own |= assigned_names(statement)


def _add(tree: ast.AST, own: set[str], read: set[str], detached: set[str]) -> None:
    """Sort the names this tree reads, except those in `own`, into the two sets."""
    nodes = list(ast.walk(tree))
    cut = {id(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr in DETACHED}
    own = own.union(*(assigned_names(n.target) for n in nodes if isinstance(n, ast.comprehension)))
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            (detached if id(node) in cut else read).update({node.id} - own)


def assigned_names(tree: ast.AST) -> set[str]:
    """The variables that these statements set, in functions too."""
    nodes = ast.walk(tree)
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
