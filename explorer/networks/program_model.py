"""The network of a reader's program: what is watched while it runs (its modules, what they are
called with, and its first loss), and which of its modules, or of its classes, the network is.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from explorer import limits
from explorer.program import (
    Limits,
    Program,
    ProgramError,
    ProgramRefused,
    ProgramStopped,
    Run,
    Watcher,
    line_of,
)
from explorer.program.completion import Completed
from explorer.program.notices import BackwardCall
from explorer.program.parsing import FILE, parse_tree, tree_of
from explorer.trace.recording.objects import named_modules

#: Functions in which a module gets its parts: these are no networks of their own.
_METHODS = frozenset({"__init__", "forward", "setup", "build"})


@dataclass
class ModuleUse:
    """A call of a module by the program: what it was given, on which line, and whether it
    returned."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    line: int
    with_grad: bool
    returned: bool = False


@dataclass(frozen=True)
class LossUse:
    """A backward of the program: its line, and the variables of every function then."""

    line: int
    variables: dict[str, dict[str, Any]]


class NetworkWatcher(Watcher):
    """Remembers variables, modules with their last call, and where backward began.

    Unless it is `trained`, the program ends at the first backward after which it makes no other
    module: a network is shown before its first step.
    """

    def __init__(
        self,
        completed: Completed,
        limits: Limits | None = None,
        *,
        trained: bool = False,
    ) -> None:
        super().__init__(limits)
        self.watches_calls = True
        self.trained, self.ended_at = trained, 0
        #: The last value of every name, by the function that gave it; "" is the top level.
        self.variables: dict[str, dict[str, Any]] = {"": {}}
        self.modules: dict[nn.Module, ModuleUse | None] = {}
        self.loss: LossUse | None = None
        #: The last scalar with a graph, and the last of the others.
        self.scalar: Tensor | None = None
        self.number: Tensor | None = None
        self._makes_later = _lines_that_make_modules(completed)
        self._handles: list[Any] = []
        self._has_ended = False

    def note(self, location: int, value: Any) -> Any:
        if isinstance(value, Tensor):
            self._note_scalar(value)
        elif isinstance(value, nn.Module) and not self._is_inside(location):
            self._observe(value)
        return value

    def bind(self, location: int, name: str, value: Any) -> None:
        if not self._has_ended and location < len(self.locations):
            self.variables.setdefault(self.locations[location].scope, {})[name] = value
        if isinstance(value, Tensor):
            self._note_scalar(value)
        elif isinstance(value, nn.Module) and name != "self" and not self._is_inside(location):
            self._observe(value)

    def run_backward(self, call: BackwardCall, engine: Callable[[], Any]) -> Any:
        result = engine()
        if call.what == "Tensor.backward" and self._has_called():
            known = {scope: dict(names) for scope, names in self.variables.items()}
            line, top_line = _running_lines()
            self.loss = LossUse(line, known)
            if not self.trained and not any(later > top_line for later in self._makes_later):
                self.ended_at = line
                raise ProgramStopped("The network is shown as it is before its first step.")
        return result

    def end(self) -> None:
        """Take the hooks off the modules: what runs from now on is no longer the program."""
        self._has_ended = True
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _note_scalar(self, value: Tensor) -> None:
        if value.dim() == 0 and not value.is_leaf:
            self.scalar = value
        elif value.dim() == 0 and value.is_floating_point():
            self.number = value

    def _is_inside(self, location: int) -> bool:
        if self._has_ended or location >= len(self.locations):  # of another text
            return True
        return self.locations[location].scope.rpartition(".")[2] in _METHODS

    def _observe(self, module: nn.Module) -> None:
        if module in self.modules or len(self.modules) >= limits.MOST_OBSERVED_MODULES:
            return
        self.modules[module] = None

        def enter(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            before, grad = self.modules.get(module), torch.is_grad_enabled()
            if before is None or grad or not before.with_grad or not before.returned:
                self.modules[module] = ModuleUse(args, dict(kwargs), _running_lines()[0], grad)

        def leave(module: nn.Module, args: Any, output: Any) -> None:
            use = self.modules.get(module)
            if use is not None:
                use.returned = True

        # torch's own methods: a class may have others of these names.
        self._handles += [
            nn.Module.register_forward_pre_hook(module, enter, with_kwargs=True),
            nn.Module.register_forward_hook(module, leave),
        ]

    def _has_called(self) -> bool:
        return any(use is not None and use.with_grad for use in self.modules.values())


def _running_lines() -> tuple[int, int]:
    """The line of the program that runs now, and that of its top level. The watcher's own line is
    that of the statement that began last, which may have been in a function that has returned."""
    lines = []
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == FILE:
            lines.append(frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return (lines[0], lines[-1]) if lines else (0, 0)


@lru_cache(64)
def makes_network(code: str) -> bool:
    """Whether a program seems to define a network or to make one of the layers of `nn`."""
    body = _statements(code)
    bases = [ast.unparse(base) for s in body if isinstance(s, ast.ClassDef) for base in s.bases]
    return any("Module" in base for base in bases) or any(_makes_module(s, set()) for s in body)


def _lines_that_make_modules(completed: Completed) -> list[int]:
    """Lines, as typed, at the top level that define a class or call one of `nn`: a program that has
    any after its first backward goes on."""
    body = _statements(completed.code)
    classes = {s.name for s in body if isinstance(s, ast.ClassDef)}
    makes = [s for s in body if isinstance(s, ast.ClassDef) or _makes_module(s, classes)]
    return [completed.line(s.lineno) or 0 for s in makes]


def _statements(code: str) -> list[ast.stmt]:
    tree = tree_of(code)
    return [] if tree is None else tree.body


def _makes_module(statement: ast.stmt, classes: set[str]) -> bool:
    if isinstance(statement, ast.FunctionDef):
        return False
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name) and function.id in classes:
                return True
            if isinstance(function, ast.Attribute) and not function.attr.endswith("Loss"):
                holder = function.value
                name = holder.attr if isinstance(holder, ast.Attribute) else ""
                name = holder.id if isinstance(holder, ast.Name) else name
                if name == "nn" and function.attr[:1].isupper():
                    return True
    return False


# -- which it is -----------------------------------------------------------------------------------


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
    if sum(sizes) > limits.MOST_PROGRAM_ELEMENTS or modules > limits.MOST_PROGRAM_MODULES:
        raise refused(
            program,
            f"The network has {sum(sizes):,} parameters in {modules:,} modules; at most "
            f"{limits.MOST_PROGRAM_ELEMENTS:,} in {limits.MOST_PROGRAM_MODULES:,} are allowed.",
            "Use fewer or smaller layers.",
        )
