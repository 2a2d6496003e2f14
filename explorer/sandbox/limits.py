"""What a child may use, and what it is cut off from before it sees a stranger's program."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys

from explorer.sandbox import walls

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

#: Memory a program may add to what the child starts with, in bytes.
MEMORY = 512 * 2**20

_LINUX = sys.platform == "linux"


def cut_off(keep: int) -> None:
    """Leave this forked child one descriptor and no environment.

    For a fresh fork on Linux only: it closes every other descriptor of the process.
    """
    walls.die_with_parent()
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != keep:
            with contextlib.suppress(OSError):  # the listing's own is closed already
                os.close(int(name))
    os.environ.clear()


def set_clock(seconds: float) -> None:
    """End this process after so much wall time, inside a running operator too."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    cpu = math.ceil(seconds) + 1  # for when the clock fails; it should be the one to ring
    _set("RLIMIT_CPU", cpu, cpu + 1)  # were they equal, the kernel would send SIGKILL at once


def confine(memory: int = MEMORY) -> None:
    """Bound this process's memory (in bytes, beyond what it has) and files; raise the walls."""
    if _LINUX:
        # A machine short of memory ends children first, never the app. Some containers forbid it.
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    if resource is not None:
        if _LINUX:
            with open("/proc/self/statm") as file:
                size = int(file.read().split()[0]) * resource.getpagesize()
            _set("RLIMIT_AS", size + memory)
        for limit in ("RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_NPROC"):
            _set(limit, 0)
        _set("RLIMIT_NOFILE", 16)
    walls.raise_walls()


def _set(name: str, soft: int, hard: int | None = None) -> None:
    which = getattr(resource, name, None)
    if which is not None:
        most = resource.getrlimit(which)[1]
        hard = soft if hard is None else hard
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(which, (soft, hard))
