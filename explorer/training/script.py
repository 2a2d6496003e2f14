"""The session so far as PyTorch code."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from textwrap import indent
from typing import Any

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
    lines = source.strip().splitlines()
    heads = [i for i, text in enumerate(lines) if text.startswith(("import ", "from "))]
    if not any(lines[i] == "import torch" for i in heads):
        lines.insert(0, "import torch")
        heads = [0, *(i + 1 for i in heads)]
    last = max(heads) + 1
    return "\n".join([*lines[:last], "", line, *lines[last:]]) + "\n"


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
