"""A program compiled to code that says what it does, and a run of it: the one way to run programs.

Who runs one decides what is observed (a `Watcher`), until when (its `Limits`), and what becomes of
it: the recorder of `explorer.trace` makes a Trace, the gradient check a tape, `training` a loss
that can be computed again, `networks` a module with its inputs.
"""

from __future__ import annotations

import builtins
import gc
import linecache
import sys
import types
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from threading import get_ident
from typing import Any, Generic, TypeVar

from explorer.program.completion import Completed, complete, unchanged
from explorer.program.completion.fixes import fix_failed, fix_unreadable
from explorer.program.devices import (
    OnCPU,
    accelerator_patches,
    device_patches,
    names_accelerator,
    names_compiler_or_workers,
)
from explorer.program.downloads import download_patches
from explorer.program.error_messages import comes_from_arguments, describe_error, exit_code, locate
from explorer.program.errors import ProgramError, ProgramRefused, ProgramStopped
from explorer.program.figures import draws_figures, figure_patches, notebook_patches
from explorer.program.missing import MissingImports
from explorer.program.notebook import without_commands
from explorer.program.notices import collected_in, running
from explorer.program.parsing import (
    AST_LOCK,
    FILE,
    NotPython,
    line_of,
    nested_too_deeply,
    parse,
    whole_statements,
    without_prompts,
)
from explorer.program.process_state import isolated, own_log, printed_to
from explorer.program.rewrite import rewrite
from explorer.program.saved_hooks import saved_hook_patches
from explorer.program.watchdog import GiveUp, Watchdog
from explorer.program.watched_calls import APPLY, OWN_TRACEBACK, Patch, patched, watched_calls
from explorer.program.watcher import Watcher

W = TypeVar("W", bound=Watcher)

#: Statements that leave something, and where they may stand.
_LEAVING = ("'return'", "'break'", "'continue'")
_PLACES = "Use return only in a function, and break and continue only in a loop."
#: What a program finds in `__file__`.
SCRIPT = "program.py"


class Program:
    """A compiled program. Raises ProgramRefused for text that is not Python.

    With `inputs`, which may be empty, the text is completed first; see `completion`. Lines count
    in the text as typed.
    """

    def __init__(self, source: str, inputs: Mapping[str, Any] | None = None) -> None:
        #: The text as it was typed, and without the prompts of a session that was pasted.
        self.typed, self.source = source, without_prompts(source)
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
        """Make code of the completed text."""
        try:
            parsed = parse(self.completed.code)
        except ProgramRefused as broken:
            error = self.completed.as_typed(broken.error)
            if self.is_whole and self.completed.code == self.source:
                error = fix_unreadable(error, self.source)
            raise type(broken)(error) from None
        try:
            tree, self.locations = rewrite(parsed, self.completed)
            with AST_LOCK:
                self.code = compile(tree, FILE, "exec", dont_inherit=True)
        except (RecursionError, MemoryError):
            raise ProgramRefused(nested_too_deeply()) from None
        except (SyntaxError, ValueError) as error:
            line, said = getattr(error, "lineno", None), str(getattr(error, "msg", error))
            raise NotPython(
                ProgramError(
                    "This statement is not allowed here.",
                    line,
                    text=line_of(self.source, line),
                    hint=_PLACES if any(word in said for word in _LEAVING) else "",
                    detail=said,
                )
            ) from None


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


class Run(Generic[W]):
    """A run of a program, from which everything that runs programs is made.

    The program runs in a module `__main__` of its own, and what it does is reported to a `watcher`,
    which also says until when it may run. `to_end` runs a program as `python program.py` would.
    `execute` alone leaves the process as the program has changed it; it can run other programs in
    the same module, one after the other, like the cells of a notebook. `variables` are the names
    that they have defined.

    Unless it `owns_process`, which threads of others may use meanwhile, what a program prints goes
    to the process's own output, and `sys.modules["__main__"]` is not its module.
    """

    def __init__(
        self,
        program: Program,
        watcher: W,
        *,
        variables: Mapping[str, Any] | None = None,
        owns_process: bool = True,
    ) -> None:
        self.program, self.watcher, self._owns_process = program, watcher, owns_process
        #: What Python and torch have warned of.
        self.warned: list[warnings.WarningMessage] = []
        self.module = types.ModuleType("__main__")
        self.names: dict[str, Any] = vars(self.module)
        self.missing = MissingImports()
        #: The text of all programs that have run here, and what is patched while one does.
        self._text, self._patches = "", list[Patch]()
        #: What `import *` has given names to.
        self.starred: dict[str, Any] = {}
        built_in = types.ModuleType("builtins", builtins.__doc__)
        helpers = {".missing": self._missing, ".star": self._star}
        vars(built_in).update(vars(builtins) | watcher.helpers() | helpers)
        self.names |= {"__builtins__": built_in, "__file__": SCRIPT}
        self._predefined = {**self.names}
        self.begin(variables or {})

    def begin(self, variables: Mapping[str, Any]) -> None:
        """Have nothing defined but these variables, as if nothing had run."""
        #: Why the program has not come to its end.
        self.error: ProgramError | None = None
        self.names.clear()
        self.names.update(self._predefined, **variables)

    @property
    def variables(self) -> dict[str, Any]:
        """Those that a program spells: Python adds `__warningregistry__` when it warns."""
        starred = object()
        return {
            name: value
            for name, value in self.names.items()
            if type(name) is str
            and name not in self._predefined
            and not name.startswith("__")
            and self.starred.get(name, starred) is not value
        }

    def _missing(self, error: ImportError, path: str, name: str, is_top: bool) -> Any:
        return self.missing.stand_in(error, path, name, self.watcher.line, is_top=is_top)

    def _star(self, path: str) -> None:
        """`from path import *` has brought names: they are not variables of the program."""
        module = sys.modules.get(path)
        for name, value in self.names.items():
            if module is not None and getattr(module, name, module) is value:
                self.starred[name] = value

    @contextmanager
    def to_end(self, seed: int, give_up: GiveUp | None = None) -> Iterator[None]:
        """Run the program with random numbers from this seed on.

        Inside the block it has ended: `error` says how, and what it made is still there. After the
        block, everything that it changed in the process is as it was. A program that cannot be
        ended at its limit is given up; see `Watchdog`.
        """
        with isolated(seed) as self.warned:
            try:
                self.execute(give_up=give_up)
            except ProgramRefused as refused:
                self.error = refused.error
            yield

    def execute(self, program: Program | None = None, *, give_up: GiveUp | None = None) -> None:
        """Run the program, or another one in its module. Raises ProgramRefused, with line and
        hint, when it fails."""
        program = program or self.program
        self.watcher.locations = program.locations
        try:
            with self.active(program), self._watched(give_up):
                exec(program.code, self.names)
        except SystemExit as ended:
            if comes_from_arguments(ended):
                raise ProgramRefused(self.explain(ended, program)) from None
            if type(code := exit_code(ended)) is str:
                self.watcher.write(f"{code}\n")
            line, _ = locate(ended)
            self.watcher.notices.add("The program ended itself.", line or self.watcher.line)
        except BaseException as error:
            self.watcher.reserve = None
            if isinstance(error, KeyboardInterrupt):
                error = ProgramStopped(
                    "You stopped the program.", "What it had done is shown.", by_reader=True
                ).with_traceback(error.__traceback__)
            raise ProgramRefused(self.explain(error, program)) from None
        if program.unread is not None:
            raise ProgramRefused(program.unread)

    @contextmanager
    def active(self, program: Program | None = None) -> Iterator[None]:
        """While code of the program runs: it is `__main__`, what it prints is collected, and the
        calls and operations that are watched are reported."""
        if running() is self.watcher:
            yield
            return
        program = program or self.program
        self.watcher.thread = get_ident()
        if program.source not in self._text:
            self._text += f"{program.source}\n"
            self._patches = _patches(self._text, self.watcher)
        with (
            collected_in(self.watcher),
            patched(self._patches),
            self._as_script(program) if self._owns_process else nullcontext(),
            self.watcher.observing(),
            OnCPU() if names_accelerator(program.source) else nullcontext(),
        ):
            yield

    @contextmanager
    def _as_script(self, program: Program) -> Iterator[None]:
        log = own_log(restores_all=not _ends_with_programs)
        with log, _as_main(self.module, program), printed_to(self.watcher.write):
            yield

    def _watched(self, give_up: GiveUp | None) -> AbstractContextManager[None]:
        """A program without a limit needs no watchdog."""
        has_limit = self.watcher.deadline is not None or give_up is not None
        return Watchdog(self.watcher.must_end, give_up) if has_limit else nullcontext()

    def explain(self, error: BaseException, program: Program | None = None) -> ProgramError:
        """The exception, described for the reader who wrote this program."""
        program = program or self.program
        operands = self.watcher.operands_of(error)
        described = describe_error(error, program.source, set(self.variables), operands)
        described = program.completed.without_column(described)
        if not program.is_whole or described.stopped:
            return described
        missing = getattr(error, "name", None) if isinstance(error, NameError) else None
        fixed = fix_failed(replace(described, fix=None), missing, program.source)
        return fixed if fixed.fix is not None or described.fix is None else described


#: Whether the calls of torch stay patched, in a process that runs programs alone; and whether this
#: one ends after its programs, so that what they find may stay changed.
_watches_always = _ends_with_programs = False


def _watching() -> list[Patch]:
    return [*watched_calls(), *saved_hook_patches()]


def watch_always() -> None:
    """Leave the calls of torch patched in this process from now on: it is one for programs alone,
    and changing a class makes Python forget what it knows of it."""
    global _watches_always
    if not _watches_always:
        for patch in (*_watching(), *device_patches()):
            patch.apply()
        _watches_always = True


def end_with_programs() -> None:
    """This process runs some programs, and ends."""
    global _ends_with_programs
    _ends_with_programs = True


#: What a text contains that writes tracebacks itself.
_WRITE_TRACEBACKS = ("traceback", "exc_info", "exception(", "import *")


def _patches(source: str, watcher: Watcher) -> list[Patch]:
    """What is patched while programs with this text run."""
    patches = [OWN_TRACEBACK] if any(word in source for word in _WRITE_TRACEBACKS) else []
    if not _watches_always and (watcher.watches_calls or names_compiler_or_workers(source)):
        patches += device_patches()  # torch compiles by itself, too
    if watcher.watches_calls and not _watches_always:
        patches += _watching()
    if watcher.watches_apply:
        patches.append(APPLY)
    if names_accelerator(source):
        patches += accelerator_patches()
    if "torchvision" in source or "torch.hub" in source:
        patches += download_patches()
    if draws_figures(source):
        patches += figure_patches()
    return [*patches, *notebook_patches(source)]


@contextmanager
def _as_main(module: types.ModuleType, program: Program) -> Iterator[None]:
    """The module is `__main__`, started as a script, and the text of its code can be found."""
    before, argv = sys.modules.get("__main__"), sys.argv
    lines = program.source.splitlines(keepends=True)
    sources = {name: linecache.cache.get(name) for name in (FILE, SCRIPT)}
    sys.modules["__main__"], sys.argv = module, [SCRIPT]
    if _ends_with_programs:  # elsewhere a library that is imported now would keep it
        sys.modules["builtins"] = vars(module)["__builtins__"]
    for name in sources:
        linecache.cache[name] = len(program.source), None, lines, name
    try:
        yield
    finally:
        sys.argv, sys.modules["builtins"] = argv, builtins
        if before is not None:
            sys.modules["__main__"] = before
        for name, entry in sources.items():
            if entry is None:
                linecache.cache.pop(name, None)
            else:
                linecache.cache[name] = entry


def run_own_lines(lines: str, names: dict[str, Any]) -> None:
    """Run lines of this library's own, such as those of a preset network. Nothing watches them."""
    exec(lines, names)
