"""What Linux reports of processes; on other systems nothing is known.

The server imports this file, so it must not import torch.
"""

from __future__ import annotations

import os
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


def is_halted(pid: int) -> bool:
    """Whether SIGSTOP or a debugger holds the process: it neither answers nor ends by itself.
    https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html"""
    return _state(pid) in ("T", "t")


def has_ended(pid: int) -> bool:
    """Whether there is no such process any more, or only its exit status."""
    return _state(pid) in ("", "Z", "X")


def states(pid: int) -> list[str]:
    """A letter for each thread of the process, the first thread's first: Z where it has ended."""
    try:
        threads = sorted(map(int, os.listdir(_PROC / str(pid) / "task")))
    except OSError:
        return []
    return [_state(pid, f"task/{thread}/") for thread in threads]


def memory(pid: int) -> int:
    """The bytes that a process has of its own, or shares with others but not with a file's; 0 where
    nothing is told. https://man7.org/linux/man-pages/man5/proc_pid_status.5.html"""
    try:
        status = (_PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    lines = (line.split() for line in status.splitlines())
    return sum(1024 * int(line[1]) for line in lines if line[:1] in (["RssAnon:"], ["RssShmem:"]))


def _state(pid: int, thread: str = "") -> str:
    """A letter; empty where there is no such process."""
    try:
        stat = (_PROC / str(pid) / f"{thread}stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[0]  # the name before it may contain anything


def oom_kills() -> int:
    """How many processes the kernel has killed for want of memory: of this process's control group,
    or else of the machine. 0 where neither is told.
    https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files"""
    for file in (*memory_events(), _PROC / "vmstat"):
        try:
            lines = [line.split() for line in file.read_text().splitlines()]
            return next(int(line[1]) for line in lines if line[:1] == ["oom_kill"])
        except (OSError, ValueError, IndexError, StopIteration):
            continue
    return 0


def memory_events() -> list[Path]:
    """The files of this process's control group that count them, if it has any."""
    try:
        groups = (_PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return []
    paths = [line[3:] for line in groups if line.startswith("0::")]
    return [_CGROUPS / path.lstrip("/") / "memory.events" for path in paths]
