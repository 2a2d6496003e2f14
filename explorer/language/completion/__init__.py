"""Completes a program: what is typed is understood, and runs in plain Python.

Imports that are missing are added. A name without a value becomes an input, a leaf with
requires_grad, unless the program makes tensors of its own: then the name is probably a mistake. A
program that lacks nothing stays as it is. Nothing is executed, and the time is proportional to the
length.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from explorer.language.completion.names import (
    depends,
    derived_names,
    find_import,
    find_inputs,
    free_names,
    makes_tensors,
    names_in,
    uses_of,
)
from explorer.language.completion.shapes import default_values
from explorer.language.completion.text import Text
from explorer.language.errors import ProgramError
from explorer.language.syntax import MAX_NODES, MAX_SOURCE, line_of
from explorer.language.thread_safe_ast import parse_tree

__all__ = ["Completed", "complete", "unchanged"]

NEWLINE = "\n"
#: The most inputs of a program.
MOST_INPUTS = 64
#: Functions and methods whose result is no value to show.
_ACTIONS = {"print", "backward", "register_hook", "retain_grad", "setattr", "delattr", "step"}


@dataclass(frozen=True)
class Completed:
    """A program as it is run: `code` is complete, and runs in plain Python.

    `lines` has, for each line of `code`, that of `source` that it comes from, and None for one that
    was added. `inputs` are the values of the free names, `output` is the name given to the result
    of the last bare expression, and `readings` says in sentences what was understood.
    """

    source: str
    code: str
    lines: tuple[int | None, ...] | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    output: str = ""
    readings: tuple[str, ...] = ()

    def line(self, number: int) -> int | None:
        """The line of the source from which this line of the code comes."""
        if self.lines is None:
            return number
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None

    def with_line(self, line: str) -> str:
        """The code with one more line."""
        return f"{self.code}{'' if self.code.endswith(NEWLINE) else NEWLINE}{line}{NEWLINE}"

    def as_typed(self, error: ProgramError) -> ProgramError:
        """An error of the code, with its line in the source."""
        if self.lines is None or error.line is None:
            return error
        line = self.line(error.line)
        return self.without_column(replace(error, line=line, text=line_of(self.source, line)))

    def without_column(self, error: ProgramError) -> ProgramError:
        """An error of this line of the source, without a column if the line was changed."""
        if self.lines is None or error.line is None:
            return error
        line = line_of(self.code, self.lines.index(error.line) + 1)
        return error if line == error.text else replace(error, column=None)

    def is_bare(self, statement: ast.stmt) -> bool:
        """Whether a statement of the code is a bare expression of the source, other than text."""
        if isinstance(statement, ast.Expr):
            value = statement.value
            return not (isinstance(value, ast.Constant) and isinstance(value.value, str))
        if not (self.output and isinstance(statement, ast.Assign)):
            return False
        return [t.id for t in statement.targets if isinstance(t, ast.Name)] == [self.output]


def complete(source: str, inputs: Mapping[str, Any] | None = None) -> Completed:
    """Complete a program; `inputs` are values of its free names.

    A text that cannot be parsed, or is too long, is left as it is.
    """
    try:
        return _complete(source, inputs or {}) if len(source) <= MAX_SOURCE else unchanged(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return unchanged(source)


def unchanged(source: str) -> Completed:
    """A program as it is."""
    return Completed(source, source)


def _complete(source: str, given: Mapping[str, Any]) -> Completed:
    tree = parse_tree(source)
    free = free_names(source)
    if not free or sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        return unchanged(source)
    text = Text(source)
    uses = uses_of(tree, free)
    imports = {name: find_import(name, places) for name, places in uses.items()}
    unknown = {name: places for name, places in uses.items() if not imports[name]}
    defined = set(names_in(tree)) - free
    names = [] if makes_tensors(tree) else find_inputs(unknown, defined)[:MOST_INPUTS]
    values = default_values(tree, names) | {n: given[n] for n in names if n in given}
    output = name_result(text, tree, set(names))
    header = _header(tree, imports, values)
    if not header:
        return unchanged(source)
    code, lines = text.with_header(header, _end_of_imports(tree))
    return Completed(source, code, lines, values, output, tuple(_import_readings(imports)))


def name_result(text: Text, tree: ast.Module, inputs: set[str]) -> str:
    """Give a name to the result of the last bare expression that depends on inputs."""
    derived = derived_names(tree, inputs)
    for statement in reversed(tree.body):
        if isinstance(statement, ast.Expr) and _is_result(statement.value, derived):
            name, taken = "out", set(names_in(tree))
            while name in taken:
                name += "_"
            text.insert(statement, f"{name} = ")
            return name
    return ""


def _is_result(value: ast.expr, derived: set[str]) -> bool:
    if isinstance(value, ast.Call):
        function = value.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name in _ACTIONS or name.endswith("_"):
            return False
    return not isinstance(value, ast.Name | ast.Attribute) and depends(value, derived)


def _header(tree: ast.Module, imports: dict[str, str], values: dict[str, Any]) -> list[str]:
    """The lines to add: imports, and the inputs."""
    plain = [line for line in imports.values() if line and " import " not in line]
    homes: dict[str, list[str]] = {}
    for line in imports.values():
        if " import " in line:
            home, _, name = line.partition(" import ")
            homes.setdefault(home, []).append(name)
    if values and "import torch" not in plain and not _imports_torch(tree):
        plain.insert(0, "import torch")
    return [
        *dict.fromkeys(plain),
        *(f"{home} import {', '.join(names)}" for home, names in homes.items()),
        *(f"{n} = torch.tensor({v!r}, requires_grad=True)" for n, v in values.items()),
    ]


def _opening(tree: ast.Module) -> list[ast.stmt]:
    """The docstring and the imports at the beginning."""
    end = 0
    for statement in tree.body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not (isinstance(statement, ast.Import | ast.ImportFrom) or (is_text and not end)):
            break
        end += 1
    following = tree.body[end : end + 1]
    while end and following and following[0].lineno == tree.body[end - 1].end_lineno:
        end -= 1
        following = tree.body[end : end + 1]
    return tree.body[:end]


def _end_of_imports(tree: ast.Module) -> int:
    """The line after which lines can be added."""
    opening = _opening(tree)
    return opening[-1].end_lineno or 0 if opening else 0


def _imports_torch(tree: ast.Module) -> bool:
    return any(
        isinstance(statement, ast.Import)
        and any(
            alias.name.split(".")[0] == "torch" and not alias.asname for alias in statement.names
        )
        for statement in _opening(tree)
    )


def _import_readings(imports: dict[str, str]) -> list[str]:
    modules = [line.split()[1] for line in imports.values() if line.startswith("import ")]
    readings = [f"`{name}` was imported." for name in modules]
    for line in imports.values():
        if line.startswith("from "):
            home, _, name = line.removeprefix("from ").partition(" import ")
            readings.append(f"`{name}` was imported from `{home}`.")
    return list(dict.fromkeys(readings))
