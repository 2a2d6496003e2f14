"""What a program prints, also through a library, and to either stream."""

from __future__ import annotations

import codecs
import io
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
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
def own_log(*, restores_all: bool) -> Iterator[None]:
    """Meanwhile `logging` is as a new process has it: a program that logs sets up its own. What it
    has set of logs that were there is put back if `restores_all`: in a fork, looking at each of
    them copies many pages."""
    root, known = logging.root, logging.root.manager.loggerDict
    old = _logs(known.values()) if restores_all else []
    changed = [root, logging.getLogger("explorer"), *old]
    before = [(log, [*log.handlers], {n: getattr(log, n) for n in _OF_LOGS}) for log in changed]
    disabled, count = root.manager.disable, len(known)
    ours = changed[1]  # what it says is not for the program's log
    ours.handlers, ours.propagate = root.handlers or [logging.StreamHandler(sys.stderr)], False
    root.handlers, root.level, root.manager.disable = [], logging.WARNING, 0
    if restores_all:
        root.manager._clear_cache()  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for log in _logs(islice(reversed(known.values()), len(known) - count)):
            vars(log).update(handlers=[], level=logging.NOTSET, propagate=True, disabled=False)
        for log, handlers, attributes in before:
            vars(log).update(attributes)
            log.handlers[:] = handlers
        root.manager.disable = disabled
        if restores_all:
            root.manager._clear_cache()  # type: ignore[attr-defined]


#: What a program may set of a log.
_OF_LOGS = ("handlers", "level", "propagate", "disabled")


def _logs(entries: Iterable[object]) -> list[logging.Logger]:
    return [log for log in entries if isinstance(log, logging.Logger)]


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
