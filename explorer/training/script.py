"""The session so far as PyTorch code."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import groupby
from textwrap import indent
from typing import Any

from explorer.language.thread_safe_ast import parse_tree
from explorer.training.history import Action
from explorer.training.optimizers import optimizer_spec
from explorer.training.problem import Problem


def script(problem: Problem, optimizer: str, actions: Iterable[Action]) -> str:
    """A program that needs only torch and ends with the session's numbers.

    `actions` begins with the reset. Equal iterations in a row become a loop.
    """
    (_, (seed, hyper)), *rest = actions
    spec = optimizer_spec(optimizer)
    usual = spec.defaults()
    definition = f"{spec.source}\n" if spec.source else ""
    options = {name: value for name, value in hyper.items() if value != usual[name] or name == "lr"}
    settings = ", ".join(f"{name}={value!r}" for name, value in options.items())
    parts = [
        _after_imports(problem.source, f"{definition}torch.manual_seed({seed})"),
        f"optimizer = {spec.constructor}({problem.parameters_source}, {settings})",
    ]
    for (name, argument), group in groupby(rest):
        block = _lines(problem, name, argument)
        times = len(list(group))
        if times > 1:
            block = f"for _ in range({times}):\n{indent(block, '    ')}"
        parts.append(block)
    return "\n".join(parts) + "\n"


def _after_imports(source: str, line: str) -> str:
    """The source with `line` after its imports; torch is imported if it is not yet."""
    lines = source.strip().split("\n")  # as Python does; splitlines() would also end a comment
    if not any(_imports_torch(statement) for statement in parse_tree("\n".join(lines)).body):
        lines.insert(0, "import torch")
    last = 0
    for statement in parse_tree("\n".join(lines)).body:
        is_import = isinstance(statement, ast.Import | ast.ImportFrom)
        if is_import or statement.lineno <= last:
            last = statement.end_lineno or last
    return "\n".join([*lines[:last], "", line, *lines[last:]]) + "\n"


def _imports_torch(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import) and any(
        alias.name == "torch" and alias.asname is None for alias in statement.names
    )


def _lines(problem: Problem, name: str, argument: Any) -> str:
    forward = problem.loss_source.strip()
    calls = {
        "forward": forward,
        "backward": "loss.backward()",
        "step": "optimizer.step()",
    }
    if name in calls:
        return calls[name]
    if name == "zero_grad":
        return "optimizer.zero_grad()" if argument else "optimizer.zero_grad(set_to_none=False)"
    if name == "set":
        items = ", ".join(f"{key}={value!r}" for key, value in argument.items())
        return f"optimizer.param_groups[0].update({items})"
    zero = ["optimizer.zero_grad()"] if argument else []
    return "\n".join([*zero, forward, "loss.backward()", "optimizer.step()"])
