"""Runs a function of the reader's again, as it is or changed, on copies of all that it uses."""

from __future__ import annotations

import ast
import copy
import dis
import gc
import inspect
import logging
import os
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from explorer.program.parsing import compiled, tree_of
from explorer.trace.recording.own_files import is_own_file
from explorer.trace.records import Trace

#: What is not copied: it is not changed by a step of training.
_SHARED = (types.ModuleType, type, types.BuiltinFunctionType)
#: What nothing can change.
_CONSTANT = (
    int, float, complex, str, bytes, type(None), torch.dtype, torch.device, logging.Logger
)  # fmt: skip


class NotCopied(Exception):
    """What a function uses cannot be copied; the message says why."""


def part_of(text: str, trace: Trace, file: str) -> str | None:
    """The text of one file in a changed `source`; None where another file is changed, too."""
    lines = trace.source.splitlines(keepends=True)
    found = next((one for one in trace.files if one.name == file), None)
    if found is None:
        return None
    before = "".join(lines[: found.first - 1])
    after = "".join(lines[found.first - 1 + found.length :])
    if not (text.startswith(before) and text.endswith(after)):
        return None
    return text[len(before) : len(text) - len(after)]


def changed_code(original: str, changed: str, code: types.CodeType) -> types.CodeType | None:
    """The code of a function in the changed text of its file; None if anything else is changed."""
    trees = [tree_of(original), tree_of(changed)]
    nodes = [None if tree is None else _definition(tree, code.co_qualname) for tree in trees]
    if None in trees or None in nodes:
        return None
    node = nodes[1]
    assert node is not None
    body, decorators = node.body, node.decorator_list
    for one in nodes:
        assert one is not None
        one.body, one.decorator_list = [ast.Pass()], []
    rest = {ast.dump(tree) for tree in trees if tree is not None}
    node.body = body
    if len(rest) > 1 or len(decorators) > 1:
        return None
    # Its free variables are those of a function around it, as before.
    names = [ast.arg(name) for name in code.co_freevars]
    around = ast.FunctionDef(
        "around", ast.arguments([], names, None, [], [], None, []), [node], [], lineno=1
    )
    module = compiled(ast.fix_missing_locations(ast.Module([around], [])), code.co_filename)
    outer = next(c for c in module.co_consts if isinstance(c, types.CodeType))
    inner = next(c for c in outer.co_consts if isinstance(c, types.CodeType))
    inner = inner.replace(co_qualname=code.co_qualname)
    return inner if inner.co_freevars == code.co_freevars else None


def _definition(tree: ast.Module, qualname: str) -> ast.FunctionDef | None:
    """The function with this name, of a class or function if it is in one."""
    body: Sequence[ast.stmt] = tree.body
    *around, name = [part for part in qualname.split(".") if part != "<locals>"]
    for outer in around:
        inside = [s for s in _statements(body) if getattr(s, "name", None) == outer]
        if len(inside) != 1:
            return None
        body = inside[0].body  # type: ignore[attr-defined]
    found = [s for s in _statements(body) if isinstance(s, ast.FunctionDef) and s.name == name]
    return found[0] if len(found) == 1 else None


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body, and those in its blocks that are no scopes."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, part, []))


def on_copies(
    function: Any, code: types.CodeType, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Callable[[], Any]:
    """A call of the function with this code, on copies of its arguments and of all variables that
    it uses. Raises NotCopied."""
    memo: dict[int, Any] = {}
    names = dict(function.__globals__)
    try:
        for name in _names_used(function):
            names[name] = _copied(names[name], function.__globals__, names, memo)
        cells = _cells(function, names, memo)
        defaults = function.__defaults__, function.__kwdefaults__
        given, named, (plain, by_name) = copy.deepcopy((args, dict(kwargs), defaults), memo)
        _copy_gradients(memo)
        _check(memo, function)
    except NotCopied:
        raise
    except Exception as error:  # of any class of the reader's
        raise NotCopied(f"{type(error).__name__}: {error}"[:200]) from None
    changed = types.FunctionType(code, names, function.__name__, plain, tuple(cells))
    changed.__kwdefaults__ = by_name
    return lambda: changed(*given, **named)


def _copy_gradients(memo: dict[int, Any]) -> None:
    """Copy `.grad` of the parameters too, which deepcopy leaves out."""
    for original in memo.get(id(memo), ()):  # deepcopy keeps what it has copied alive there
        if isinstance(original, nn.Parameter) and original.grad is not None:
            made = memo[id(original)]
            if made.grad is None:
                made.grad = original.grad.clone()


def _names_used(function: Any) -> list[str]:
    """The global variables that a function reads, and the functions beside it that it calls.

    Raises NotCopied for a module of the reader's: what it holds would be changed."""
    held: dict[str, Any] = function.__globals__
    found = dict[str, None]()
    waiting = [function.__code__]
    while waiting:
        for name in _global_names(waiting.pop()):
            value = held.get(name)
            if _is_own_module(value):
                raise NotCopied(f"it uses the module {name}, whose variables are not copied")
            if name in held and name not in found and not isinstance(value, _SHARED):
                found[name] = None
                if getattr(value, "__globals__", None) is held:
                    waiting.append(held[name].__code__)
    return list(found)


def _is_fixed(value: Any, known: set[int]) -> bool:
    """Whether a call cannot change this: a number, a class, a function of a library, or one of the
    reader's that uses nothing else. Those that are `known` are judged elsewhere."""
    value = _undecorated(value)
    if not isinstance(value, types.FunctionType):
        return isinstance(value, (*_SHARED, *_CONSTANT)) and not _is_own_module(value)
    if id(value) in known or not is_own_file(value.__code__.co_filename):
        return True
    known.add(id(value))
    held = value.__globals__
    used = [cell.cell_contents for cell in value.__closure__ or ()]
    used += [held[name] for name in _global_names(value.__code__) if name in held]
    return all(_is_fixed(one, known) for one in used)


def _global_names(code: types.CodeType) -> Iterator[str]:
    """The global variables that code names, with the functions inside it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname.endswith(("_GLOBAL", "_NAME")):
            yield instruction.argval
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _global_names(inner)


def _check(memo: dict[int, Any], function: types.FunctionType) -> None:
    """Raise NotCopied if a copy can reach the real variables: by a function that it holds, as a
    hook, or by a method of its class, or of a class that the function makes something of."""
    held = function.__globals__
    kinds = {type(one) for one in memo.values()}
    kinds |= {k for n in _global_names(function.__code__) if isinstance(k := held.get(n), type)}
    members = [m for k in kinds for parent in k.__mro__ for m in vars(parent).values()]
    for one in (*members, *gc.get_referents(*memo.get(id(memo), ()))):
        inner = getattr(one, "fget", None) or getattr(one, "__func__", one)
        if isinstance(inner, types.FunctionType) and not _is_fixed(inner, set()):
            raise _not_copied(inner)


def _undecorated(value: Any) -> Any:
    """The function inside decorators such as `torch.no_grad()`."""
    inner = inspect.unwrap(value) if isinstance(value, types.FunctionType) else value
    return inner if isinstance(inner, types.FunctionType) else value


def _not_copied(function: types.FunctionType) -> NotCopied:
    code = _undecorated(function).__code__
    file = os.path.basename(code.co_filename)
    return NotCopied(f"it calls {code.co_name} of {file}, whose variables are not copied")


def _is_own_module(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and is_own_file(value.__file__ or "<built-in>")


def _cells(function: Any, names: dict[str, Any], memo: dict[int, Any]) -> list[types.CellType]:
    """Copies of what a function has of those around it."""
    return [
        types.CellType(_copied(cell.cell_contents, function.__globals__, names, memo))
        for cell in function.__closure__ or ()
    ]


def _copied(value: Any, held: Mapping[str, Any], names: dict[str, Any], memo: Any) -> Any:
    """A copy; a function beside the one that runs sees the copied variables. Raises NotCopied for a
    function of another file of the reader's that uses variables of its own."""
    if not isinstance(value, types.FunctionType):
        return copy.deepcopy(value, memo)
    if value.__globals__ is not held:
        if not _is_fixed(value, set()):
            raise _not_copied(value)
        return value
    cells = tuple(_cells(value, names, memo))
    defaults = copy.deepcopy(value.__defaults__, memo)
    made = types.FunctionType(value.__code__, names, value.__name__, defaults, cells)
    made.__kwdefaults__ = copy.deepcopy(value.__kwdefaults__, memo)
    return made
