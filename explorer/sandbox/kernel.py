"""Linux, as far as Python has no function for it: system calls, a process's privileges and memory,
and what /proc and the control groups report. On other systems nothing happens and nothing is known.

The server imports this file, so it must not import torch.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
import sys
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_PROC = Path("/proc")
#: Of root's privileges: to write and read whatever a file's mode says; to mount, to see what other
#: users' processes hold, and to give threads another priority.
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1 << 1, 1 << 2
CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_SYS_NICE = 1 << 19, 1 << 21, 1 << 23
#: Version 3 of capget and capset, and the process.
_THIS_PROCESS = struct.pack("=Ii", 0x20080522, 0)

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """The result of a system call by its number: -1 for an error, whose number is
    `ctypes.get_errno()`, and on other systems."""
    if _libc is None:
        return -1
    values = (ctypes.c_long(a) if isinstance(a, int) else a for a in (number, *arguments))
    return int(_libc.syscall(*values))


def prctl(option: int, *arguments: int) -> int:
    """As `syscall`, for an operation on this process."""
    if _libc is None:
        return -1
    padded = (*arguments, 0, 0, 0, 0)[:4]
    return int(_libc.prctl(option, *(ctypes.c_ulong(argument) for argument in padded)))


def mount_in_memory(folder: str, options: str) -> bool:
    """Mount a file system in memory at the folder, for this process and its children alone. False
    where it may not; https://docs.kernel.org/filesystems/tmpfs.html has the options."""
    new_namespace, recursive, private = 0x20000, 0x4000, 1 << 18
    no_suid, no_devices, no_exec = 2, 4, 8
    if _libc is None or _libc.unshare(new_namespace) != 0:
        return False
    flags = ctypes.c_ulong(recursive | private)  # what is mounted here appears nowhere else
    if _libc.mount(b"none", b"/", None, flags, None) != 0:
        return False
    flags = ctypes.c_ulong(no_suid | no_devices | no_exec)
    return bool(_libc.mount(b"tmpfs", folder.encode(), b"tmpfs", flags, options.encode()) == 0)


def has_capability(capability: int) -> bool:
    """Whether this process has one of root's privileges."""
    return bool(_permitted() & capability)


def keep_capabilities(mask: int) -> None:
    """Give up all of this process's privileges but those in `mask`."""
    if _libc is not None:
        keep = _permitted() & mask
        _libc.capset(_THIS_PROCESS, struct.pack("=6I", keep, keep, 0, 0, 0, 0))


def _permitted() -> int:
    if _libc is None:
        return 0
    sets = ctypes.create_string_buffer(24)  # effective, permitted, inheritable; twice 32 bits
    _libc.capget(_THIS_PROCESS, sets)
    return int(struct.unpack("=6I", sets.raw)[1])


#: Advice to put memory into huge pages (Linux 6.1), and their size.
_COLLAPSE, _HUGE_PAGE = 25, 2**21
#: A line of /proc/self/maps: writable memory of this process alone that is no file's.
_PRIVATE = re.compile(r"(\w+)-(\w+) rw-p 0+ 00:00 0 *(?:\[heap\])?")


def collapse_memory() -> None:
    """Put what this process has written to into huge pages, if the kernel can.

    Most of a fork, and of a child's end, is one entry of the page table after the other: 75,000 of
    4 kB or 150 of 2 MB. What a child writes to is copied in pieces of 4 kB all the same.
    https://man7.org/linux/man-pages/man2/madvise.2.html
    """
    maps = Path("/proc/self/maps")
    if _libc is None or not maps.exists():
        return
    for line in maps.read_text().splitlines():
        if match := _PRIVATE.fullmatch(line):
            first, last = (int(address, 16) for address in match.groups())
            whole = -(-first // _HUGE_PAGE) * _HUGE_PAGE
            for start in range(whole, last - _HUGE_PAGE + 1, _HUGE_PAGE):
                _libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(_HUGE_PAGE), _COLLAPSE)


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
    this is not known. https://man7.org/linux/man-pages/man5/proc_pid_status.5.html"""
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
    or else of the machine. 0 where neither is known.
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
