"""os, sys, platform, gc and the like: a machine without files, arguments and other programs."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

from explorer.language.errors import OutsideLanguage, ProgramExit
from explorer.language.notices import notice
from explorer.language.vocabulary.everyday.per_run import PerRun, Run
from explorer.language.vocabulary.stand_in import StandIn

TITLE = "System"
#: The name of the program in sys.argv.
PROGRAM = "program.py"


def _exit(run: Run) -> Any:
    def exit(code: Any = None) -> None:
        """End the program."""
        if code is not None and type(code) is not int:
            from explorer.language.guard.formatting import to_text

            run.write(f"{to_text(code, str)}\n")
        raise ProgramExit("The program ended itself.")

    return exit


class Stream(StandIn):
    """`sys.stdout` and `sys.stderr`: both write to the output of the program."""

    def __init__(self, run: Run, name: str) -> None:
        self._write = run.watcher.write  # also inside redirect_stdout
        self.encoding = "utf-8"
        self.name = name

    def write(self, text: str) -> int:
        """Write text to the output; returns its length."""
        from explorer.language.guard.formatting import without_addresses

        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__[:60]}")
        self._write(without_addresses(text))
        return len(text)

    def flush(self) -> None:
        """Nothing is left to be written."""

    def isatty(self) -> bool:
        """Whether it is a terminal: no."""
        return False

    def __repr__(self) -> str:
        return f"<_io.TextIOWrapper name='{self.name}' mode='w' encoding='utf-8'>"


def _getsizeof(value: Any, default: int = 0) -> int:
    """About how many bytes Python needs for a number, a string or a container."""
    if type(value) in (bool, int, float, complex, str, list, tuple, dict, set, type(None)):
        return sys.getsizeof(value)
    raise OutsideLanguage(
        "The size of this value in memory is not known here.",
        "For a tensor, use x.element_size() * x.nelement().",
    )


def _set_limit(limit: int) -> None:
    """Python's limit for recursion stays as it is."""
    notice("sys.setrecursionlimit has no effect here.")


def _collect(generation: int = 2) -> int:
    """Memory is freed without it."""
    return 0


def _no_effect(*args: Any, **kwargs: Any) -> None:
    """It has no effect here."""


def _one_processor() -> int:
    """A program runs on one processor."""
    return 1


def _cannot(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise OutsideLanguage(f"{name} is not possible here: a program has no files or processes.")

    return refuse


class _Environment:
    """The environment variables of one run: none, but those that it sets itself."""

    def __init__(self, run: Run) -> None:
        self.values: dict[str, str] = {}

        def get(key: str, default: Any = None) -> Any:
            """The value of an environment variable, or the default."""
            return self.values.get(key, default)

        self.get: Any = get


ADDED: dict[str, tuple[str, Any]] = {
    f"{path}": (TITLE, thing)
    for path, thing in {
        "os.environ": PerRun(lambda run: run.shared(_Environment).values, os.environ),
        "os.getenv": PerRun(lambda run: run.shared(_Environment).get, os.getenv),
        "os.sep": os.sep,
        "os.linesep": os.linesep,
        "os.name": os.name,
        "os.devnull": os.devnull,
        "os.cpu_count": _one_processor,
        "os.getpid": lambda: 1,
        "os.system": _cannot("os.system"),
        "sys.argv": PerRun(lambda run: [PROGRAM], sys.argv),
        "sys.path": PerRun(lambda run: [""], sys.path),
        "sys.modules": PerRun(lambda run: {}, sys.modules),
        "sys.exit": PerRun(_exit, sys.exit),
        "sys.stdout": PerRun(lambda run: Stream(run, "<stdout>"), sys.stdout),
        "sys.stderr": PerRun(lambda run: Stream(run, "<stderr>"), sys.stderr),
        "sys.version": sys.version,
        "sys.version_info": sys.version_info,
        "sys.platform": "linux",
        "sys.byteorder": sys.byteorder,
        "sys.executable": "python",
        "sys.maxsize": sys.maxsize,
        "sys.float_info": sys.float_info,
        "sys.getsizeof": _getsizeof,
        "sys.getrecursionlimit": lambda: 1000,
        "sys.setrecursionlimit": _set_limit,
        "gc.collect": _collect,
        "gc.enable": _no_effect,
        "gc.disable": _no_effect,
        "platform.system": lambda: "Linux",
        "platform.machine": lambda: "x86_64",
        "platform.processor": lambda: "",
        "platform.node": lambda: "localhost",
        "platform.release": lambda: "",
        "platform.platform": lambda: "Linux",
        "platform.python_version": platform.python_version,
        "platform.python_implementation": platform.python_implementation,
        "multiprocessing.cpu_count": _one_processor,
        "multiprocessing.freeze_support": _no_effect,
    }.items()
}


KINDS = (type(sys.version_info), type(sys.float_info))
