"""A program as guarded code, and the environment it runs in."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
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
from explorer.language.errors import OutsideLanguage, ProgramError, ProgramRefused, ProgramStopped
from explorer.language.explain import FILE, explain
from explorer.language.guard import Guard
from explorer.language.rewrite import rewrite
from explorer.language.syntax import line_of, parse, too_deep, without_prompts
from explorer.language.tree import PARSING
from explorer.language.vocabulary.python import NUMPY_RANDOM, RANDOM
from explorer.language.watcher import Watcher

#: Held by whoever draws from torch's generator or changes its gradient mode: both belong to the
#: whole process.
PROCESS = threading.RLock()


def _check_name(module: nn.Module, name: str, thing: Any) -> None:
    """Refuse a parameter's, buffer's or submodule's name that would mean something to Python.

    A module answers for its parts as for attributes: numpy and copy would call one named
    `__array__` or `__deepcopy__`. Whoever runs a program holds PROCESS; others are left alone.
    """
    is_plain = name[:2] != "__" and len(name) <= 200 and name.isprintable()
    if PROCESS._is_owned() and not is_plain:  # type: ignore[attr-defined]
        raise OutsideLanguage(
            "A part of a module cannot have this name.",
            "Use at most 200 plain characters, without leading underscores.",
        )


# torch asks these for every module of the process, so that a program finds no way around them.
register_module_module_registration_hook(_check_name)
register_module_parameter_registration_hook(_check_name)
register_module_buffer_registration_hook(_check_name)


class Program:
    """A checked and compiled program. Raises ProgramRefused for text outside the language."""

    def __init__(self, source: str) -> None:
        self.source = without_prompts(source)
        tree = parse(self.source)
        try:
            tree, self.places = rewrite(tree, self.source)
            with PARSING:
                self.code = compile(tree, FILE, "exec", dont_inherit=True)
        except (RecursionError, MemoryError):
            raise ProgramRefused(too_deep()) from None
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            raise ProgramRefused(
                ProgramError(
                    "This statement cannot stand here.",
                    line,
                    text=line_of(self.source, line),
                    hint="return belongs into a function, break and continue into a loop.",
                    detail=str(getattr(error, "msg", error)),
                )
            ) from None


class Environment:
    """The names of one run. Several programs may run in it, one after the other.

    It starts with no names but the built-ins; `variables` are those the programs made.
    """

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.guard = Guard(watcher)
        self.names: dict[str, Any] = {
            "__builtins__": builtins.names(self.guard),
            "__name__": "__main__",
            **watcher.helpers(),
            **self.guard.helpers,
        }
        self._given = set(self.names)

    @property
    def variables(self) -> dict[str, Any]:
        return {name: value for name, value in self.names.items() if name not in self._given}

    def run(self, program: Program) -> None:
        """Run a program. Raises ProgramRefused, with line and hint, when it fails."""
        self.watcher.places = program.places
        try:
            exec(program.code, self.names)
        except (Exception, ProgramStopped) as error:
            raise ProgramRefused(self.explain(error, program)) from None

    def explain(self, error: BaseException, program: Program) -> ProgramError:
        """The exception as it is told to whoever wrote this program."""
        return explain(error, program.source, set(self.variables))


@contextmanager
def isolated(seed: int) -> Iterator[list[warnings.WarningMessage]]:
    """Run a program's code with seeded random numbers, and put everything process-wide back.

    torch's random state, gradient mode and print options belong to the whole process, so one
    program runs at a time. Yields the list in which warnings are collected.
    """
    options = torch._tensor_str.PRINT_OPTS
    with (
        PROCESS,
        torch.random.fork_rng(devices=[]),
        torch.enable_grad(),
        warnings.catch_warnings(record=True) as caught,
    ):
        kept, fast = dict(vars(options)), torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)  # its C++ trusts the types of parameters
        warnings.simplefilter("default")
        torch.manual_seed(seed)
        RANDOM.seed(seed)
        NUMPY_RANDOM.seed(seed % 2**32)
        try:
            yield caught
        finally:
            vars(options).update(kept)
            torch.backends.mha.set_fastpath_enabled(fast)
