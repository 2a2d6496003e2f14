"""Files: only installed code stays readable, and only one folder can be written in.

https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import struct

from explorer.sandbox import libc
from explorer.sandbox.installed_code import code_directories

# The same numbers on every processor.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
#: To write, read, make, remove, move and truncate files and folders; no links and no devices.
_WRITE = sum(1 << bit for bit in (1, 2, 3, 4, 5, 7, 8, 13, 14))
#: The first version that can forbid truncating, which changes a file without writing to it.
WRITING = 3
#: How many kinds of file access each version knows, from the first: 14 with moving files to
#: another folder, 15 with truncating, 16 with commands to devices, 17 with connecting to a socket
#: in the file system.
_FILE_ACCESS = (13, 14, 15, 15, 16, 16, 16, 16, 17)


def version() -> int:
    """The kernel's version of Landlock, from 1; less if it has none or it is switched off."""
    return libc.syscall(_CREATE_RULESET, None, 0, 1)


def restrict_files(folder: str | None) -> None:
    """Leave this process installed code to read and this folder to write in, and no other file.
    Raises OSError."""
    known = version()
    files = (1 << _FILE_ACCESS[min(known, len(_FILE_ACCESS)) - 1]) - 1
    network = 0b11 if known >= 4 else 0  # bind and connect
    scopes = 0b11 if known >= 6 else 0  # abstract sockets, signals
    attributes = struct.pack("=QQQ", files, network, scopes)
    size = 24 if scopes else 16 if network else 8
    ruleset = _must(libc.syscall(_CREATE_RULESET, attributes, size, 0))
    rights = dict.fromkeys(map(str, code_directories()), _READ_FILE | _READ_DIR)
    for directory, access in (rights | ({folder: _WRITE} if folder else {})).items():
        try:
            descriptor = os.open(directory, os.O_PATH)
        except OSError:
            continue
        rule = struct.pack("=Qi", access & files, descriptor)
        _must(libc.syscall(_ADD_RULE, ruleset, 1, rule, 0))
        os.close(descriptor)
    _must(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _must(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock could not be applied")
    return result
