"""The session so far as PyTorch code."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from textwrap import indent
from typing import Any

from explorer.program.parsing import parse_tree
from explorer.training.arguments import split_name
from explorer.training.clipping import clip_spec
from explorer.training.history import Action, Settings
from explorer.training.loss_state import assigned_names
from explorer.training.optimizers import optimizer_spec
from explorer.training.problem import Problem
from explorer.training.schedulers import scheduler_spec


def script(problem: Problem, optimizer: str, actions: Iterable[Action]) -> str:
    """A program that needs only torch and ends with the session's numbers.

    `actions` begins with the reset. Equal iterations in a row become a loop.
    """
    (_, (seed, settings)), *rest = actions
    spec = optimizer_spec(optimizer)
    usual = spec.defaults()
    definition = f"{spec.source}\n" if spec.source else ""
    arguments = ", ".join(
        f"{name}={value!r}"
        for name, value in settings["hyper"].items()
        if value != usual[name] or name == "lr"
    )
    parameters, grouped = _parameters(problem, seed, settings.get("groups", ()))
    parts = [
        _after_imports(problem.source, f"{definition}torch.manual_seed({seed})"),
        *_start(problem, settings),
        f"{grouped}optimizer = {spec.constructor}({parameters}, {arguments})",
        *_scheduler(settings),
    ]
    calls = _calls(problem, settings)
    if spec.evaluates:
        parts.append(_closure(calls))
        calls["step"] = "optimizer.step(closure)"
    for (name, argument), group in groupby(rest):
        block = _lines(calls, name, argument)
        times = len(list(group))
        if times > 1:
            block = f"for _ in range({times}):\n{indent(block, '    ')}"
        parts.append(block)
    return "\n".join(parts) + "\n"


def _start(problem: Problem, settings: Settings) -> list[str]:
    """Gives the parameters their start, if it is not the problem's own."""
    if "start" not in settings:
        return []
    values = ", ".join(repr(value.tolist()) for value in settings["start"].values())
    return [
        f"start = [{values}]\n"
        "with torch.no_grad():\n"
        f"    parameters = (p for p in {problem.parameters_source} if p.requires_grad)\n"
        "    for parameter, values in zip(parameters, start):\n"
        "        values = torch.tensor(values, dtype=parameter.dtype)\n"
        "        parameter.copy_(values.view(parameter.shape))\n"
    ]


def _parameters(
    problem: Problem, seed: int, groups: Sequence[Mapping[str, Any]]
) -> tuple[str, str]:
    """What the optimizer is given, and statements before it that define its names."""
    if not groups:
        return problem.parameters_source, ""
    names = list(problem.build(seed).parameters)
    named = {name for group in groups for name in group["parameters"]}
    first = {"parameters": [name for name in names if name not in named]}
    if problem.parameters_source == f"[{', '.join(names)}]":  # variables of the program
        terms, before = {name: name for name in names}, ""
    else:
        terms = {name: f"all_parameters[{place}]" for place, name in enumerate(names)}
        before = f"all_parameters = [p for p in {problem.parameters_source} if p.requires_grad]\n"
    rows = []
    for group in (first, *groups):
        members = ", ".join(terms[name] for name in group["parameters"])
        own = "".join(f', "{k}": {v!r}' for k, v in group.items() if k != "parameters")
        rows.append(f'    {{"params": [{members}]{own}}},\n')
    return f"[\n{''.join(rows)}]", before


def _scheduler(settings: Settings) -> list[str]:
    if "scheduler" not in settings:
        return []
    name, arguments = split_name(settings["scheduler"])
    return [scheduler_spec(name).code(arguments)]


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


def _closure(calls: Mapping[str, str]) -> str:
    """The function that an optimizer calls to compute loss and gradients itself. The names that the
    loss text sets are the program's own."""
    names = ", ".join(sorted({*assigned_names(parse_tree(calls["forward"])), "loss"}))
    inner = [calls[name] for name in ("forward", "backward", "clip") if name in calls]
    body = "\n".join([f"global {names}", "optimizer.zero_grad()", *inner, "return loss"])
    return f"\ndef closure():\n{indent(body, '    ')}\n"


def _calls(problem: Problem, settings: Settings) -> dict[str, str]:
    """The code of each action without an argument, in the order of an iteration."""
    calls = {"forward": problem.loss_source.strip(), "backward": "loss.backward()"}
    if "clip" in settings:
        name, arguments = split_name(settings["clip"])
        calls["clip"] = clip_spec(name).code(problem.parameters_source, arguments)
    calls["step"] = "optimizer.step()"
    if "scheduler" in settings:
        name, _ = split_name(settings["scheduler"])
        loss = "loss.item()" if scheduler_spec(name).needs_loss else ""
        calls["schedule"] = f"scheduler.step({loss})"
    return calls


def _lines(calls: Mapping[str, str], name: str, argument: Any) -> str:
    if name in calls:
        return calls[name]
    if name == "zero_grad":
        return "optimizer.zero_grad()" if argument else "optimizer.zero_grad(set_to_none=False)"
    if name == "set":
        items = ", ".join(f"{k}={value!r}" for k, value in argument.items() if k != "group")
        return f"optimizer.param_groups[{argument.get('group', 0)}].update({items})"
    zero = ["optimizer.zero_grad()"] if argument else []
    return "\n".join([*zero, *calls.values()])
