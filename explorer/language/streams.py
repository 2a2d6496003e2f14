"""What a program prints, also through a library, and to either stream."""

from __future__ import annotations

import io
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")


def without_addresses(text: str) -> str:
    """`<A object at 0x7f31622cea40>` becomes `<A object>`: it is another one each time."""
    return _ADDRESS.sub("", text)


class _Stream(io.TextIOBase):
    """`sys.stdout` or `sys.stderr` while a program runs. What threads write that were there before
    goes where it would go without the program."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, write: Callable[[str], None], before: TextIO, others: set[int]) -> None:
        self._write, self._before, self._others = write, before, others

    def write(self, text: str) -> int:
        """Write text, without memory addresses."""
        if threading.get_ident() in self._others:
            return self._before.write(text)
        self._write(without_addresses(text))
        return len(text)

    def writable(self) -> bool:
        """It is written to."""
        return True

    def reconfigure(self, **options: Any) -> None:
        """Nothing here has an encoding or a buffer to set."""

    def isatty(self) -> bool:
        """Nobody sits there."""
        return False

    @property
    def buffer(self) -> Any:
        """The bytes of the text."""
        return _Bytes(self)

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")


class _Bytes(io.RawIOBase):
    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def write(self, data: Any) -> int:
        self._stream.write(bytes(data).decode(errors="replace"))
        return len(data)

    def writable(self) -> bool:
        return True


@contextmanager
def own_log() -> Iterator[None]:
    """Meanwhile `logging` is as a new process has it: a program that logs sets up its own."""
    root = logging.root
    manager, disabled = root.manager, root.manager.disable
    before = {log: {name: getattr(log, name) for name in _OF_LOGS} for log in _logs()}
    handlers = {log: log.handlers[:] for log in before}
    root.handlers, root.level, manager.disable = [], logging.WARNING, 0
    manager._clear_cache()  # type: ignore[attr-defined]
    try:
        yield
    finally:
        new = {"handlers": [], "level": logging.NOTSET, "propagate": True, "disabled": False}
        for log in _logs():
            vars(log).update(before.get(log, new))
            log.handlers[:] = handlers.get(log, [])
        manager.disable = disabled
        manager._clear_cache()  # type: ignore[attr-defined]


#: What a program may set of a log.
_OF_LOGS = ("handlers", "level", "propagate", "disabled")


def _logs() -> list[logging.Logger]:
    known = list(logging.root.manager.loggerDict.values())
    return [logging.root, *(log for log in known if isinstance(log, logging.Logger))]


@contextmanager
def printed_to(write: Callable[[str], None]) -> Iterator[None]:
    """Meanwhile, `write` gets what is printed; nobody answers `input()`."""
    here = threading.get_ident()
    others = {thread.ident or 0 for thread in threading.enumerate()} - {here}
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.StringIO()
    sys.stdout, sys.stderr = (_Stream(write, stream, others) for stream in before[1:])
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
