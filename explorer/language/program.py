"""A program compiled to guarded code, and the environment in which it runs."""

from __future__ import annotations

import decimal
import gc
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from explorer.language import builtins
from explorer.language.completion import Completed, complete, unchanged
from explorer.language.completion.fixes import fix_failed, fix_unreadable
from explorer.language.errors import (
    OutsideLanguage,
    ProgramError,
    ProgramExit,
    ProgramRefused,
    ProgramStopped,
)
from explorer.language.explain import FILE, explain
from explorer.language.guard import Guard
from explorer.language.notebook import without_commands
from explorer.language.notices import collected_in
from explorer.language.parsing import (
    NotPython,
    nested_too_deeply,
    parse,
    whole_statements,
    without_prompts,
)
from explorer.language.process_state import restored
from explorer.language.rewrite import rewrite
from explorer.language.syntax import line_of
from explorer.language.thread_safe_ast import AST_LOCK
from explorer.language.vocabulary import forward_mode, saved_hooks
from explorer.language.vocabulary.everyday.arrays import numpy_options
from explorer.language.vocabulary.memory_safety import restrict_torch
from explorer.language.vocabulary.python_names import NUMPY_RANDOM, RANDOM
from explorer.language.watchdog import GiveUp, Watchdog
from explorer.language.watcher import Watcher

#: The most lines that are named, of those that cannot run.
MOST_REFUSED = 10
#: Of decimal numbers: Python takes half a minute to make an integer of 1e500000.
MOST_EXPONENT = 9999

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
        #: Why the rest of the text is not run: Python cannot read it.
        self.unread: ProgramError | None = None
        commands = without_commands(self.source)
        text = commands.code
        while True:
            completed = complete(text, inputs) if self.is_whole else unchanged(text)
            self.completed: Completed = commands.of(completed)
            try:
                with _without_collector():
                    self._compile()
                return
            except NotPython as broken:
                self.unread = broken.error
                text = whole_statements(text, broken.error.line or 1)
                if not text:
                    raise

    def _compile(self) -> None:
        """Make code of the completed text, and `refused`, the errors of what it leaves out."""
        try:
            parsed = parse(self.completed.code)
        except ProgramRefused as broken:
            error = self.completed.as_typed(broken.error)
            if self.is_whole and self.completed.code == self.source:
                error = fix_unreadable(error, self.source)
            raise type(broken)(error) from None
        self.refused = tuple(map(self.completed.as_typed, parsed.refused))
        try:
            tree, self.locations = rewrite(parsed.tree, self.completed)
            with AST_LOCK:
                self.code = compile(tree, FILE, "exec", dont_inherit=True)
        except (RecursionError, MemoryError):
            raise ProgramRefused(nested_too_deeply()) from None
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            raise NotPython(
                ProgramError(
                    "This statement is not allowed here.",
                    line,
                    text=line_of(self.source, line),
                    hint="Use return only in a function, and break and continue only in a loop.",
                    detail=str(getattr(error, "msg", error)),
                )
            ) from None

    def with_others(self, error: ProgramError) -> ProgramError:
        """An error that ended the program, with what cannot run on other lines."""
        if error not in self.refused and error != self.unread:
            return error
        others = [other for other in self.refused if other != error]
        if self.unread not in (None, error):
            others.append(self.unread)
        return replace(error, also=_sentences(others))

    def not_reached(self, error: ProgramError | None) -> tuple[str, ...]:
        """What cannot run here and was not reached, in sentences. `error` has ended the program."""
        if error is not None and replace(error, also=()) in (*self.refused, self.unread):
            return ()
        return tuple(f"{sentence} It was not reached." for sentence in _sentences(self.refused))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Python's collector would look through the growing trees of a long program many times."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _sentences(errors: Sequence[ProgramError]) -> tuple[str, ...]:
    """Each of these errors in a sentence, up to a number."""
    said = [f"Line {error.line} cannot run here: {error.message}" for error in errors]
    if len(said) > MOST_REFUSED:
        more = len(said) - MOST_REFUSED
        said[MOST_REFUSED:] = [f"{more} more {'line' if more == 1 else 'lines'} cannot run here."]
    return tuple(said)


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
        """Those that a program spells: loops have theirs (`.turns0`), and Python adds
        `__warningregistry__` when it warns."""
        starred = self.guard.starred
        return {
            name: value
            for name, value in self.names.items()
            if name not in self._predefined
            and name[0] != "."
            and name[:2] != "__"
            and not (name in starred and value is starred[name])
        }

    def run(self, program: Program, give_up: GiveUp | None = None) -> None:
        """Run a program. Raises ProgramRefused, with line and hint, when it fails. One that cannot
        be ended at its limit is given up; see `Watchdog`."""
        self.watcher.locations = program.locations
        self.guard.attributes.run.source = program.source
        generators = self.guard.generators
        try:
            with collected_in(self.watcher):
                try:
                    with self._watched(give_up):
                        exec(program.code, self.names)
                except ProgramStopped:
                    generators.abandon_all()
                    raise
                finally:
                    generators.close_all()
        except ProgramExit:
            self.watcher.notices.add("The program ended itself.", self.watcher.line)
        except (Exception, ProgramStopped) as error:
            self.watcher.reserve = None
            raise ProgramRefused(self.explain(error, program)) from None
        if program.unread is not None:
            raise ProgramRefused(program.with_others(program.unread))

    def _watched(self, give_up: GiveUp | None) -> AbstractContextManager[None]:
        """A program without a limit needs no watchdog."""
        has_limit = self.watcher.deadline is not None or give_up is not None
        return Watchdog(self.watcher.must_end, give_up) if has_limit else nullcontext()

    def explain(self, error: BaseException, program: Program) -> ProgramError:
        """The exception, described for the reader who wrote this program."""
        operands = self.watcher.operands_of(error)
        described = explain(error, program.source, set(self.variables), operands)
        described = program.with_others(program.completed.without_column(described))
        if not program.is_whole or described.stopped:
            return described
        missing = getattr(error, "name", None) if isinstance(error, NameError) else None
        fixed = fix_failed(replace(described, fix=None), missing, program.source)
        return fixed if fixed.fix is not None or described.fix is None else described


def seed_generators(seed: int) -> None:
    """Seed the random generators of torch, Python and numpy as a run begins with them."""
    torch.default_generator.manual_seed(seed)  # programs run on the CPU alone
    RANDOM.seed(seed)
    NUMPY_RANDOM.seed(seed % 2**32)


@contextmanager
def isolated(seed: int) -> Iterator[list[warnings.WarningMessage]]:
    """Seed the random generators, and restore all state of the process afterwards.

    torch's random state, gradient mode, default dtype and print options belong to the whole
    process, so only one program runs at a time. Yields the list in which warnings are collected.
    """
    options, dtype = torch._tensor_str.PRINT_OPTS, torch.get_default_dtype()
    with (
        TORCH_LOCK,
        torch.random.fork_rng(devices=[]),
        torch.inference_mode(False),  # entered twice, torch's own does not end
        torch.enable_grad(),
        restrict_torch(),
        restored(),
        numpy_options(),
        decimal.localcontext(decimal.DefaultContext, Emin=-MOST_EXPONENT, Emax=MOST_EXPONENT),
        warnings.catch_warnings(record=True) as caught,
    ):
        saved = dict(vars(options))
        warnings.simplefilter("default")
        seed_generators(seed)
        try:
            yield caught
        finally:
            vars(options).update(saved)
            torch.set_default_dtype(dtype)
            forward_mode.leave_all_levels()
            saved_hooks.remove_all_hooks()
