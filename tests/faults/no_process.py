"""The jobs of tests/sandbox, for a server whose forks fail while this is switched on.

SIGUSR1 switches it on and off.
"""

import errno
import os
import signal

from tests.sandbox.jobs import JOBS

__all__ = ["JOBS"]

_fork, _refusing = os.fork, [False]


def _fork_or_refuse() -> int:
    if _refusing[0]:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return _fork()


os.fork = _fork_or_refuse
signal.signal(signal.SIGUSR1, lambda *_: _refusing.append(not _refusing.pop()))
