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
        """Write text; of a line that is written again, as progress bars are, its last state."""
        if threading.get_ident() in self._others:
            return self._before.write(text)
        self._write(without_addresses(text))
        return len(text)

    def writable(self) -> bool:
        """It is written to."""
        return True

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
    handlers, level, disabled = root.handlers, root.level, root.manager.disable
    root.handlers, root.level, root.manager.disable = [], logging.WARNING, 0
    root.manager._clear_cache()  # type: ignore[attr-defined]
    try:
        yield
    finally:
        root.handlers, root.level, root.manager.disable = handlers, level, disabled
        root.manager._clear_cache()  # type: ignore[attr-defined]


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
