"""Completes a program: what is typed is understood, and runs in plain Python.

Imports that are missing are added. A name without a value becomes an input, a leaf with
requires_grad, unless the program makes tensors of its own: then the name is probably a mistake.
Notations of mathematics are read where their meaning is certain: `notation` has those that Python
cannot parse, `reading` those that it would understand in another way. A program that lacks nothing
stays as it is. Nothing is executed, and the time is proportional to the length.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from explorer import limits
from explorer.program.completion.names import (
    depends,
    derived_names,
    find_import,
    find_inputs,
    global_names,
    makes_tensors,
    names_in,
    starred_names,
    uses_of,
)
from explorer.program.completion.notation import Unreadable, read_notation
from explorer.program.completion.reading import Reader, uncalled_function
from explorer.program.completion.shapes import default_values
from explorer.program.completion.text import Imports, Text, imports_torch, input_line, opening
from explorer.program.errors import ProgramError
from explorer.program.parsing import line_of, parse_tree

__all__ = ["Completed", "complete", "unchanged"]

#: Functions and methods whose result is no value to show.
_ACTIONS = {"print", "backward", "register_hook", "retain_grad", "setattr", "delattr", "step"}


#: What `reading` may change in a program without free names: 2(3 + 1), 2.5^2, and a bare lambda.
_READ = re.compile(r"[0-9)]\s*\(|\^|^\s*\(?lambda\b", re.MULTILINE)


#: Notation that Python can parse: the names x·y and xᵀ, and a line that begins with d/dx(x**2).
_NAMES = re.compile(r"\w[·\u0387]|\wᵀ(?!\s*=[^=])")
_DERIVATIVE = re.compile(rf"^\s*[d∂]\s*/\s*[d∂]\w|{_NAMES.pattern}", re.MULTILINE)


@dataclass(frozen=True)
class Completed:
    """A program as it is run: `code` is complete, and runs in plain Python.

    `lines` has, for each line of `code`, that of `source` that it comes from, and None for one that
    was added. `inputs` are the values of the free names, `output` is the name given to the result
    of the last bare expression, and `notices` says in sentences what was understood.
    """

    source: str
    code: str
    lines: tuple[int | None, ...] | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    output: str = ""
    notices: tuple[str, ...] = ()

    def line(self, number: int) -> int | None:
        """The line of the source from which this line of the code comes."""
        if self.lines is None:
            return number
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None

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

    A long text gets its imports only. One that has no certain meaning is left as it is.
    """
    try:
        if len(source) > limits.MAX_COMPLETED:
            return _with_imports(source) if len(source) <= limits.MAX_SOURCE else unchanged(source)
        return _complete(source, inputs or {})
    except (SyntaxError, ValueError, RecursionError, MemoryError, Unreadable):
        return unchanged(source)


def unchanged(source: str) -> Completed:
    """A program as it is."""
    return Completed(source, source)


class _Program:
    """A text that Python can parse, and what it lacks."""

    def __init__(self, code: str, *, takes_inputs: bool = True) -> None:
        self.code, self.tree = code, parse_tree(code)
        self.free, self.bound = global_names(code)
        starred, is_certain = starred_names(self.tree) if "*" in code else (set[str](), True)
        self.free -= starred
        self.bound |= starred
        self.imports: dict[str, str] = {}
        self.inputs: list[str] = []
        self.derived: set[str] = set()
        if not self.free:
            return
        if sum(1 for _ in ast.walk(self.tree)) > limits.MAX_TREE:
            raise Unreadable
        uses = uses_of(self.tree, self.free)
        found = {name: find_import(name, places) for name, places in uses.items()}
        self.imports = {name: statement for name, statement in found.items() if statement}
        if takes_inputs and is_certain and not makes_tensors(self.tree):
            unknown = {name: uses[name] for name in uses if name not in self.imports}
            defined = set(names_in(self.tree)) - self.free
            self.inputs = find_inputs(unknown, defined)[: limits.MOST_INPUTS]
        self.derived = derived_names(self.tree, set(self.inputs))


def _complete(source: str, given: Mapping[str, Any]) -> Completed:
    notices: list[str] = []
    values: dict[str, Any] = {}
    lines: list[int | None] = list(range(1, source.count("\n") + 2))
    try:
        program = _Program(source)
        pattern = _DERIVATIVE if "d" in program.free else _NAMES
        has_notation = bool(program.free) and bool(pattern.search(source))
    except SyntaxError:
        has_notation = True
    if has_notation:
        notation = read_notation(textwrap.dedent(source))
        program, values, notices = _Program(notation.text), notation.values, notation.notices
    name, parameters, line = uncalled_function(program.tree)
    if name and not program.bound & set(parameters):
        code = program.code.rstrip("\n")
        called = _Program(f"{code}\n{name}({', '.join(parameters)})")
        if set(parameters) <= set(called.inputs):
            program, lines = called, [*lines[: code.count("\n") + 1], line]
    for _ in range(2):  # what is read may have other inputs
        if not (program.free or _READ.search(program.code)):
            break
        text = Text(program.code)
        reader = Reader(text, program.tree, program.free, program.bound, program.derived)
        if not reader.read():
            break
        program = _Program(text.changed())
        notices += reader.notices
    if not program.free and program.code == source:
        return unchanged(source)
    if not values.keys() <= set(program.inputs):
        raise Unreadable
    inputs = default_values(program.tree, program.inputs) | values
    inputs |= {name: given[name] for name in inputs if name in given}
    return _with_header(source, program, lines, inputs, notices)


def _with_imports(source: str) -> Completed:
    """The program with the imports that it lacks."""
    program = _Program(source, takes_inputs=False)
    lines: list[int | None] = list(range(1, source.count("\n") + 2))
    return _with_header(source, program, lines, {}, [])


def _with_header(
    source: str,
    program: _Program,
    lines: list[int | None],
    inputs: dict[str, Any],
    notices: list[str],
) -> Completed:
    """The program with what it lacks, and a name for its result."""
    start = opening(program.tree)
    needs_torch = bool(inputs) and not imports_torch(start)
    imports = Imports(program.imports.values(), torch=needs_torch)
    header = [*imports.lines, *(input_line(name, value) for name, value in inputs.items())]
    if not header and program.code == source:
        return unchanged(source)
    text = Text(program.code)
    output = _name_result(text, program) if inputs else ""
    after = start[-1].end_lineno or 0 if start else 0
    code = text.changed().split("\n")
    code[after:after] = header
    lines[after:after] = [None] * len(header)
    said = tuple(dict.fromkeys([*imports.notices, *notices]))
    return Completed(source, "\n".join(code), tuple(lines), inputs, output, said)


def _name_result(text: Text, program: _Program) -> str:
    """Give a name to the result of the last bare expression that depends on inputs."""
    for statement in reversed(program.tree.body):
        if isinstance(statement, ast.Expr) and _is_result(statement.value, program.derived):
            name, taken = "out", set(names_in(program.tree))
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
