"""A program compiled to guarded code, and the environment in which it runs."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from explorer.language import builtins
from explorer.language.completion import complete, unchanged
from explorer.language.completion.fixes import fix_failed, fix_unreadable
from explorer.language.errors import OutsideLanguage, ProgramError, ProgramRefused, ProgramStopped
from explorer.language.explain import FILE, explain
from explorer.language.guard import Guard
from explorer.language.rewrite import rewrite
from explorer.language.syntax import line_of, nested_too_deeply, parse, without_prompts
from explorer.language.thread_safe_ast import AST_LOCK
from explorer.language.vocabulary.memory_safety import restrict_torch
from explorer.language.vocabulary.python_names import NUMPY_RANDOM, RANDOM
from explorer.language.watcher import Watcher

#: To be held while drawing from torch's random generator or changing its gradient mode: both belong
#: to the whole process.
TORCH_LOCK = threading.RLock()


def _check_name(module: nn.Module, name: str, thing: Any) -> None:
    """Refuse a name of a parameter, buffer or submodule that has a meaning in Python.

    The parts of a module are attributes: numpy and copy would call one named `__array__` or
    `__deepcopy__`. Only a thread that holds TORCH_LOCK, as for running a program, is checked.
    """
    is_plain = name[:2] != "__" and len(name) <= 200 and name.isprintable()
    if TORCH_LOCK._is_owned() and not is_plain:  # type: ignore[attr-defined]
        raise OutsideLanguage(
            "A parameter, buffer or submodule cannot have this name.",
            "Use at most 200 printable characters, without leading underscores.",
        )


# torch calls these for every module of the process, so a program cannot bypass them.
register_module_module_registration_hook(_check_name)
register_module_parameter_registration_hook(_check_name)
register_module_buffer_registration_hook(_check_name)


class Program:
    """A checked and compiled program. Raises ProgramRefused for text outside the language.

    With `inputs`, which may be empty, the text is completed first; see `completion`. Lines count
    in the text as typed.
    """

    def __init__(self, source: str, inputs: Mapping[str, Any] | None = None) -> None:
        self.source = without_prompts(source)
        self.is_whole = inputs is not None
        self.completed = complete(self.source, inputs) if self.is_whole else unchanged(self.source)
        try:
            tree = parse(self.completed.code)
        except ProgramRefused as refused:
            error = self.completed.as_typed(refused.error)
            if self.is_whole and self.completed.code == self.source:
                error = fix_unreadable(error, self.source)
            raise ProgramRefused(error) from None
        try:
            tree, self.locations = rewrite(tree, self.completed)
            with AST_LOCK:
                self.code = compile(tree, FILE, "exec", dont_inherit=True)
        except (RecursionError, MemoryError):
            raise ProgramRefused(nested_too_deeply()) from None
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            raise ProgramRefused(
                ProgramError(
                    "This statement is not allowed here.",
                    line,
                    text=line_of(self.source, line),
                    hint="Use return only in a function, and break and continue only in a loop.",
                    detail=str(getattr(error, "msg", error)),
                )
            ) from None


class Environment:
    """The names of one run. Several programs may run in it, one after the other.

    It starts with the built-ins only; `variables` are the names that the programs have defined.
    """

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.names: dict[str, Any] = {}
        self.guard = Guard(watcher, self.names)
        self.names |= {
            "__builtins__": builtins.make_builtins(self.guard),
            "__name__": "__main__",
            **watcher.helpers(),
            **self.guard.helpers,
        }
        self._predefined = set(self.names)

    @property
    def variables(self) -> dict[str, Any]:
        """Those that a program can spell: loops have theirs (`.turns0`), and Python adds
        `__warningregistry__` when it warns."""
        return {
            name: value
            for name, value in self.names.items()
            if name not in self._predefined and name[0] != "." and name[:2] != "__"
        }

    def run(self, program: Program) -> None:
        """Run a program. Raises ProgramRefused, with line and hint, when it fails."""
        self.watcher.locations = program.locations
        try:
            exec(program.code, self.names)
        except (Exception, ProgramStopped) as error:
            raise ProgramRefused(self.explain(error, program)) from None

    def explain(self, error: BaseException, program: Program) -> ProgramError:
        """The exception, described for the reader who wrote this program."""
        described = explain(error, program.source, set(self.variables))
        described = program.completed.without_column(described)
        if not program.is_whole or described.stopped:
            return described
        missing = getattr(error, "name", None) if isinstance(error, NameError) else None
        return fix_failed(described, missing, program.source)


def seed_generators(seed: int) -> None:
    """Seed the random generators of torch, Python and numpy as a run begins with them."""
    torch.default_generator.manual_seed(seed)  # programs run on the CPU alone
    RANDOM.seed(seed)
    NUMPY_RANDOM.seed(seed % 2**32)


@contextmanager
def isolated(seed: int) -> Iterator[list[warnings.WarningMessage]]:
    """Seed the random generators, and restore all state of the process afterwards.

    torch's random state, gradient mode and print options belong to the whole process, so only one
    program runs at a time. Yields the list in which warnings are collected.
    """
    options = torch._tensor_str.PRINT_OPTS
    with (
        TORCH_LOCK,
        torch.random.fork_rng(devices=[]),
        torch.enable_grad(),
        restrict_torch(),
        warnings.catch_warnings(record=True) as caught,
    ):
        saved = dict(vars(options))
        warnings.simplefilter("default")
        seed_generators(seed)
        try:
            yield caught
        finally:
            vars(options).update(saved)
