"""What keeps a stop by a limit from being swallowed where Python lets any exception be."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from explorer.language.errors import ProgramStopped


class Managed:
    """The context manager of a `with`. It is not told of a stop, and cannot end one."""

    __slots__ = ("_enter", "_exit", "_manager")

    def __init__(self, manager: Any) -> None:
        kind = type(manager)
        self._manager = manager
        try:
            self._enter, self._exit = kind.__enter__, kind.__exit__
        except AttributeError:
            words = f"'{kind.__name__[:60]}' object does not support the context manager protocol"
            raise TypeError(words) from None

    def __enter__(self) -> Any:
        return self._enter(self._manager)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        if not isinstance(error, ProgramStopped):
            return self._exit(self._manager, kind, error, trace)
        with contextlib.suppress(Exception):
            self._exit(self._manager, None, None, None)
        return False


def go_on_stopping() -> None:
    """Stands first in every `finally`, which a stop passes by: `return` there would end it."""
    error = sys.exception()
    if isinstance(error, ProgramStopped):
        raise error
