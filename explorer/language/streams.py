"""What a program prints, also through a library, and to either stream."""

from __future__ import annotations

import codecs
import io
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")


def without_addresses(text: str) -> str:
    """`<A object at 0x7f31622cea40>` becomes `<A object>`: it is another one each time."""
    return _ADDRESS.sub("", text)


class _Stream(io.TextIOWrapper):
    """`sys.stdout` or `sys.stderr` while a program runs. What threads write that were there before
    goes where it would go without the program."""

    def __init__(self, name: str, write: Callable[[str], None], others: set[int]) -> None:
        self._write, self._before, self._others = write, getattr(sys, name), others
        bytes_of = _Bytes(f"<{name}>", self.write)
        super().__init__(bytes_of, encoding="utf-8", errors="replace", write_through=True)

    def write(self, text: str) -> int:
        """Write text, without memory addresses."""
        if threading.get_ident() in self._others:
            return int(self._before.write(text))
        self._write(without_addresses(text))
        return len(text)


class _Bytes(io.RawIOBase):
    """`sys.stdout.buffer`"""

    def __init__(self, name: str, write: Callable[[str], object]) -> None:
        self.name, self._write = name, write
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def write(self, data: Any) -> int:
        self._write(self._decoder.decode(bytes(data)))
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
    ours = logging.getLogger("explorer")  # what it says is not for the program's log
    ours.handlers, ours.propagate = handlers[root] or [logging.StreamHandler(sys.stderr)], False
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
    output, errors = (_Stream(name, write, others) for name in ("stdout", "stderr"))
    streams = {"stdin": io.TextIOWrapper(io.BytesIO()), "stdout": output, "stderr": errors}
    streams |= {"__stdout__": output, "__stderr__": errors}
    before = {name: getattr(sys, name) for name in streams}
    vars(sys).update(streams)
    try:
        yield
    finally:
        vars(sys).update(before)
