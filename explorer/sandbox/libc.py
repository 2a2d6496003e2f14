"""System calls that Python has no function for."""

from __future__ import annotations

import ctypes
import struct
import sys

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


def madvise(start: int, length: int, advice: int) -> int:
    """As `syscall`, for advice about a range of this process's memory."""
    if _libc is None:
        return -1
    return int(_libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), advice))
