"""The jobs of tests/sandbox, for a server that finds no process to be had while it is told so: a
SIGUSR1 turns this on and off."""

import errno
import os
import signal

from tests.sandbox.jobs import JOBS

__all__ = ["JOBS"]

_fork, _refusing = os.fork, [False]


def _perhaps() -> int:
    if _refusing[0]:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return _fork()


os.fork = _perhaps
signal.signal(signal.SIGUSR1, lambda *_: _refusing.append(not _refusing.pop()))
