"""The lines that are added to a program: imports, and its inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any


class Imports:
    """Statements that import names, several from one module together; and `torch`, if the lines
    that are added need it."""

    def __init__(self, statements: Iterable[str], *, torch: bool) -> None:
        self.torch = torch
        self.modules: dict[str, None] = {}
        self.members: dict[str, list[str]] = {}
        for statement in statements:
            before, _, names = statement.partition(" import ")
            if names:
                self.members.setdefault(before, []).append(names)
            else:
                self.modules[statement] = None

    @property
    def lines(self) -> list[str]:
        modules = {"import torch": None} | self.modules if self.torch else self.modules
        return [*modules, *(f"{m} import {', '.join(n)}" for m, n in self.members.items())]

    @property
    def readings(self) -> list[str]:
        """What the program uses without an import, in sentences."""
        modules = [statement.removeprefix("import ") for statement in self.modules]
        sentences = [f"{_list(modules)} imported."] if modules else []
        for statement, names in self.members.items():
            sentences.append(f"{_list(names)} imported from `{statement.removeprefix('from ')}`.")
        return sentences


def _list(names: list[str]) -> str:
    quoted = [f"`{name}`".replace(" as ", "` as `") for name in names]
    words = ", ".join(quoted[:-1]) + " and " + quoted[-1] if len(quoted) > 1 else quoted[0]
    return f"{words} {'were' if len(quoted) > 1 else 'was'}"


def input_line(name: str, value: Any) -> str:
    """The line that makes a name an input."""
    return f"{name} = torch.tensor({value!r}, requires_grad=True)"


def opening(tree: ast.Module) -> list[ast.stmt]:
    """The docstring and the imports at the beginning, on lines of their own."""
    end = 0
    for statement in tree.body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not (isinstance(statement, ast.Import | ast.ImportFrom) or (is_text and not end)):
            break
        end += 1
    while 0 < end < len(tree.body) and tree.body[end].lineno == tree.body[end - 1].end_lineno:
        end -= 1
    return tree.body[:end]


def imports_torch(statements: list[ast.stmt]) -> bool:
    """Whether these statements bind the name torch to the module."""
    aliases = [a for s in statements if isinstance(s, ast.Import) for a in s.names]
    return any(a.name.split(".")[0] == "torch" and not a.asname for a in aliases)
