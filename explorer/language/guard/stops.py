"""What keeps a stop by a limit from being swallowed where Python lets any exception be."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from explorer.language.errors import ProgramStopped


class Managed:
    """The context manager of a `with`. It is not told of a stop, and cannot end one."""

    __slots__ = ("_enter", "_exit")

    def __init__(self, manager: Any) -> None:
        try:
            self._enter, self._exit = _special(manager, "__enter__"), _special(manager, "__exit__")
        except AttributeError:
            kind = type(manager).__name__[:60]
            words = f"'{kind}' object does not support the context manager protocol"
            raise TypeError(words) from None

    def __enter__(self) -> Any:
        return self._enter()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        if not isinstance(error, ProgramStopped):
            return self._exit(kind, error, trace)
        with contextlib.suppress(Exception):
            self._exit(None, None, None)
        return False


def _special(manager: Any, name: str) -> Any:
    """A special method, found as Python finds it: on the class, and bound to the object."""
    kind = type(manager)
    holder = next((c for c in kind.__mro__ if name in vars(c)), None)
    if holder is None:
        raise AttributeError(name)
    found = vars(holder)[name]
    return found.__get__(manager, kind) if hasattr(found, "__get__") else found


def go_on_stopping() -> None:
    """Stands first in every `finally`, which a stop passes by: `return` there would end it."""
    error = sys.exception()
    if isinstance(error, ProgramStopped):
        raise error
