"""What a child may use, and what is taken from it before it receives an untrusted program."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import signal
import sys
import time

from explorer.sandbox import kernel_restrictions, libc
from explorer.sandbox.kernel_restrictions import Walls
from explorer.sandbox.scratch import FILE

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

#: Memory a program may add to what the child starts with, in bytes. A small transformer needs three
#: quarters of it; a server for many sets less.
MEMORY = 2048 * 2**20
#: Threads a program may start.
THREADS = 32

#: What a child keeps of root's privileges: to read code wherever it is installed.
KEPT = libc.CAP_DAC_OVERRIDE | libc.CAP_DAC_READ_SEARCH
#: Users that nobody is, one for each child.
_FIRST_USER = 2**30

_LINUX = sys.platform == "linux"


def isolate_fork(keep: int) -> None:
    """Leave this forked child the file descriptor `keep` and no environment.

    For a fresh fork on Linux only: it closes every other descriptor of the process.
    """
    kernel_restrictions.die_with_parent()
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != keep:
            with contextlib.suppress(OSError):  # the one used by listdir is already closed
                os.close(int(name))
    os.environ.clear()


def set_time_limit(seconds: float) -> None:
    """End this process after this much wall time, even inside a running operator."""
    if not hasattr(signal, "setitimer"):
        return  # Windows: only the server ends it
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    cpu = math.ceil(time.process_time() + seconds) + 1  # a fallback: normally the timer fires first
    _set_limit("RLIMIT_CPU", cpu, cpu + 1)  # if they were equal, the kernel would send SIGKILL


def apply_limits(
    memory: int = MEMORY, walls: Walls = Walls.NARROW, folder: str | None = None
) -> None:
    """Limit this process's memory (in bytes, beyond what it has now), files, threads and
    privileges, and apply the kernel's restrictions. It may write in the folder, if there is one.
    Raises OSError if these do not work."""
    threads = 0
    if _LINUX:
        # When memory runs out, the kernel kills children first. Some containers forbid this.
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
        _drop_privileges()
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        _set_limit("RLIMIT_AS", size + memory)
        if "seccomp" not in kernel_restrictions.missing():  # which refuses new processes
            threads = _threads_of_user() + THREADS
    if resource is not None:
        _set_limit("RLIMIT_NPROC", threads)
        _set_limit("RLIMIT_CORE", 0)
        _set_limit("RLIMIT_FSIZE", FILE if folder else 0)
        _set_limit("RLIMIT_NOFILE", 16)
    kernel_restrictions.apply_restrictions(walls, folder)


def _drop_privileges() -> None:
    """Give up what makes root more than a user, except reading code wherever it is installed."""
    with contextlib.suppress(OSError):  # only root may
        # The real user, whose threads the kernel counts: it never limits root's.
        os.setresuid(_FIRST_USER + secrets.randbelow(_FIRST_USER), -1, -1)
    libc.keep_capabilities(KEPT)


def _threads_of_user() -> int:
    """How many threads the user of this process has in all: what RLIMIT_NPROC counts."""
    if os.getuid() != os.geteuid():
        return 0  # a user of its own
    count, user = 0, os.getuid()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):  # the process has ended
                tasks = os.stat(f"/proc/{name}/task")
                count += tasks.st_nlink - 2 if tasks.st_uid == user else 0
    return count


def _set_limit(name: str, soft: int, hard: int | None = None) -> None:
    number = getattr(resource, name, None)
    if number is not None:
        maximum = resource.getrlimit(number)[1]
        hard = soft if hard is None else hard
        if maximum != resource.RLIM_INFINITY:
            soft, hard = min(soft, maximum), min(hard, maximum)
        resource.setrlimit(number, (soft, hard))
