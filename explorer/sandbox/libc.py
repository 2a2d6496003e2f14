"""System calls that Python has no function for."""

from __future__ import annotations

import ctypes
import struct
import sys

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


def keep_capabilities(mask: int) -> None:
    """Give up all of this process's privileges but those in `mask`."""
    if _libc is None:
        return
    version_3, this_process = 0x20080522, 0
    header = struct.pack("=Ii", version_3, this_process)
    sets = ctypes.create_string_buffer(24)  # effective, permitted, inheritable; twice 32 bits
    _libc.capget(header, sets)
    keep = struct.unpack("=6I", sets.raw)[1] & mask
    _libc.capset(header, struct.pack("=6I", keep, keep, 0, 0, 0, 0))


def madvise(start: int, length: int, advice: int) -> int:
    """As `syscall`, for advice about a range of this process's memory."""
    if _libc is None:
        return -1
    return int(_libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), advice))
