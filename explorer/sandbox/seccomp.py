"""The filter of system calls, made of the tables in system_calls.py.

https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

from explorer.sandbox import libc
from explorer.sandbox.system_calls import (
    CHECKED,
    GROUPS,
    HOSTILE,
    PRETENDED,
    READ_ONLY,
    REFUSED,
    SELF,
    UNKNOWN,
    Check,
    numbers,
)

#: machine -> its name in the filter's input, the number of the call `seccomp`
_MACHINES = {"x86_64": (0xC000003E, 317), "aarch64": (0xC00000B7, 277)}
_SET_FILTER, _GET_ACTION, _ALL_THREADS = 1, 2, 1

#: Since Linux 5.1 new calls have the same number everywhere. Libraries try them and, if they are
#: unknown, use older ones.
_FIRST_NEW_CALL = 424
#: Where the numbers of x86_64's second set begin, which lead to the same calls.
_SECOND_SET = 0x40000000

Step = tuple[int, int, int, int]  # operation, steps to skip if true, if false, value

_LOAD, _RETURN = 0x20, 0x06
_EQUAL, _AT_LEAST, _ANY_BIT = 0x15, 0x35, 0x45
_KILL_PROCESS = 0x80000000
_ALLOW: Step = (_RETURN, 0, 0, 0x7FFF0000)
_REFUSE: Step = (_RETURN, 0, 0, 0x00050000 | errno.EPERM)
_IS_UNKNOWN: Step = (_RETURN, 0, 0, 0x00050000 | errno.ENOSYS)
_PRETEND: Step = (_RETURN, 0, 0, 0x00050000)
_KILL: Step = (_RETURN, 0, 0, _KILL_PROCESS)


def available() -> bool:
    """Whether this kernel can filter system calls, and we know their numbers on this processor."""
    if platform.machine() not in _MACHINES or sys.maxsize < 2**32:
        return False
    action = struct.pack("=I", _KILL_PROCESS)
    return libc.syscall(_MACHINES[platform.machine()][1], _GET_ACTION, 0, action) == 0


def restrict_calls(wide: bool, writes: bool) -> None:
    """Filter this process's system calls from now on. Raises OSError."""
    machine = platform.machine()
    code = b"".join(struct.pack("=HBBI", *step) for step in make_filter(machine, wide, writes))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    if libc.syscall(_MACHINES[machine][1], _SET_FILTER, _ALL_THREADS, program) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls was not accepted")


def make_filter(machine: str, wide: bool, writes: bool) -> list[Step]:
    """The filter: allowed is what the groups name or, if `wide`, what no list refuses. It `writes`
    where there is a folder for it, and Landlock keeps it in."""
    verdicts: dict[int, tuple[Step, ...]]
    verdicts = dict.fromkeys(numbers(HOSTILE, machine).values(), (_KILL,))
    verdicts |= dict.fromkeys(numbers(PRETENDED, machine).values(), (_PRETEND,))
    if wide:
        verdicts |= dict.fromkeys(numbers(REFUSED, machine).values(), (_REFUSE,))
        verdicts |= dict.fromkeys(numbers(UNKNOWN, machine).values(), (_IS_UNKNOWN,))
    checked = CHECKED if writes else CHECKED | READ_ONLY
    for group in GROUPS:
        for name, number in numbers(group.calls, machine).items():
            if group.writes and not writes:
                verdicts[number] = (_REFUSE,)
            elif name in checked:
                verdicts[number] = _check(*checked[name])
            elif not wide:
                verdicts[number] = (_ALLOW,)
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _MACHINES[machine][0]), _KILL, (_LOAD, 0, 0, 0)]
    steps += [(_AT_LEAST, 0, 1, _SECOND_SET), _KILL]
    for number, verdict in verdicts.items():
        steps += [(_EQUAL, 0, len(verdict), number), *verdict]
    if wide:
        return [*steps, _ALLOW]
    return [*steps, (_AT_LEAST, 0, 1, _FIRST_NEW_CALL), _IS_UNKNOWN, _REFUSE]


def _check(check: Check, *more: Check) -> tuple[Step, ...]:
    """The steps that allow or refuse a call by an argument, of which a step sees 32 bits; then by
    others. All checks but the last refuse what they find."""
    low, high = ((_LOAD, 0, 0, 16 + 8 * check.argument + offset) for offset in (0, 4))
    if check.test == "null":
        return (low, (_EQUAL, 0, 3, 0), high, (_EQUAL, 0, 1, 0), _ALLOW, _REFUSE)
    test = _ANY_BIT if check.test == "without" else _EQUAL
    hit, miss = (_ALLOW, _REFUSE) if check.test == "one of" else (_REFUSE, _ALLOW)
    steps = [low]
    for value in check.values:
        steps += [(test, 0, 1, os.getpid() if value == SELF else value), hit]
    return (*steps, *(_check(*more) if more else (miss,)))
