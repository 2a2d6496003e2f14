"""The network of a program that has run: which of its modules it is, or of its classes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.nn.parameter import is_lazy

from explorer.networks.program_watcher import NetworkWatcher
from explorer.program import Program, ProgramError, ProgramRefused, Run, line_of
from explorer.program.parsing import parse_tree
from explorer.trace.recording.objects import named_modules

#: The most elements that all parameters may have together, and the most modules.
MOST_ELEMENTS, MOST_MODULES = 30_000_000, 5_000
#: Names that a variable with the network usually has.
NAMES = ("model", "net", "network")
#: A module, as a hint writes it.
EXAMPLE = "model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))"


def refused(
    program: Program, message: str, hint: str, line: int | None = None, detail: str = ""
) -> ProgramRefused:
    """The exception that says this about a line of the program."""
    text = line_of(program.source, line)
    return ProgramRefused(ProgramError(message, line, None, text, hint, detail))


def find_model(run: Run[NetworkWatcher]) -> tuple[str, nn.Module] | None:
    """The network, and its name at the top level, "" if it has none there; None without a module.

    That is a variable with a usual name, or else the last module that is no part of another and has
    parameters; first of the top level, then of functions, then one that was only called.
    """
    functions = [names for scope, names in run.watcher.variables.items() if scope]
    inner = {name: value for names in functions for name, value in names.items()}
    for variables, is_top in ((run.variables, True), (inner, False)):
        name = _choose(_networks(variables))
        if name:
            return name if is_top else "", variables[name]
    called = [m for m, use in run.watcher.modules.items() if use is not None and is_network(m)]
    return ("", called[-1]) if called else None


def others(run: Run[NetworkWatcher], model: nn.Module) -> list[str]:
    """Names of other networks at the top level."""
    roots = _roots(_networks(run.variables))
    parts = {id(part) for _, part in named_modules(model)}
    return [name for name, module in roots.items() if id(module) not in parts]


def is_network(value: Any) -> bool:
    """Whether a value is a module that is no loss."""
    return isinstance(value, nn.Module) and not isinstance(value, nn.modules.loss._Loss)


def _networks(variables: Mapping[str, Any]) -> dict[str, nn.Module]:
    return {name: value for name, value in variables.items() if is_network(value)}


def _choose(variables: Mapping[str, nn.Module]) -> str:
    named = next((name for name in NAMES if name in variables), "")
    roots = _roots(variables)
    trained = [n for n, m in roots.items() if any(m._parameters for _, m in named_modules(m))]
    return named or (trained or list(roots) or [""])[-1]


def _roots(variables: Mapping[str, nn.Module]) -> dict[str, nn.Module]:
    """Those that are part of no other."""
    parts = {id(part) for m in variables.values() for path, part in named_modules(m) if path}
    return {name: module for name, module in variables.items() if id(module) not in parts}


def construct(run: Run[NetworkWatcher]) -> tuple[str, nn.Module]:
    """Make an instance of the last class that no other class of the program uses; returns the line
    that does so. Raises ProgramRefused if there is no class or it needs arguments."""
    program = run.program
    classes = {
        name: value
        for name, value in run.variables.items()
        if isinstance(value, type)
        and issubclass(value, nn.Module)
        and value.__module__ == "__main__"
    }
    if not classes:
        raise refused(
            program, "The program makes no nn.Module.", f"Add one, for example {EXAMPLE}."
        )
    lines, used = _definitions(program.completed.code)
    name = ([n for n in classes if n not in used] or list(classes))[-1]
    line = program.completed.line(lines.get(name, 0))
    needed = _required_arguments(classes[name])
    call = f"model = {name}({', '.join(needed)})"
    if needed:
        what = f"the argument {needed[0]}" if len(needed) == 1 else f"{', '.join(needed)}"
        raise refused(
            program,
            f"{name[:60]} needs {what}, so no {name[:60]} was made.",
            f"Add a line that makes one: {call}, with values of your own.",
            line,
        )
    before = run.watcher.locations
    try:
        run.execute(Program(call))
    except ProgramRefused as failed:
        error = failed.error
        hint = error.hint or f"Add a line that makes one: {call}"
        message = f"{name[:60]}() fails: {error.message}"
        raise refused(program, message, hint, error.line or line, error.detail) from None
    finally:
        run.watcher.locations = before
    return call, run.names["model"]


def _definitions(code: str) -> tuple[dict[str, int], set[str]]:
    """The lines of all classes, and the names that are used inside of other classes."""
    body = [s for s in parse_tree(code).body if isinstance(s, ast.ClassDef)]
    used: set[str] = set()
    for definition in body:
        names = {n.id for n in ast.walk(definition) if isinstance(n, ast.Name)}
        used |= names - {definition.name}
    return {s.name: s.lineno for s in body}, used


def _required_arguments(kind: type) -> list[str]:
    """The parameters of `__init__` that have no default."""
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return []
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name[:40] for p in parameters if p.default is p.empty and p.kind not in variable]


def check_size(program: Program, model: nn.Module) -> None:
    """Raises ProgramRefused for a network that is too large to be shown."""
    modules = sum(1 for _ in named_modules(model))
    sizes = [p.numel() for p in model.parameters() if not is_lazy(p)]
    if sum(sizes) > MOST_ELEMENTS or modules > MOST_MODULES:
        raise refused(
            program,
            f"The network has {sum(sizes):,} parameters in {modules:,} modules; at most "
            f"{MOST_ELEMENTS:,} in {MOST_MODULES:,} are allowed.",
            "Use fewer or smaller layers.",
        )
