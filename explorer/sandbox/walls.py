"""The walls around a child on Linux: what the kernel refuses it, whatever its program has found.

The language is the first wall; this is the second. Landlock leaves only the installed code to be
read, and seccomp refuses new processes, sockets, writing to files, and touching other processes.
Both need no privilege, cannot be undone, and are left out where the kernel lacks them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that forked it ends."""
    _prctl(_PR_SET_PDEATHSIG, 9)


def raise_walls() -> tuple[str, ...]:
    """Confine this process for good; the names of the walls that stand."""
    if _libc is None or _prctl(_PR_SET_NO_NEW_PRIVS, 1) != 0:
        return ()
    walls = {"landlock": _landlock, "seccomp": _seccomp}
    return tuple(name for name, wall in walls.items() if wall())


def _prctl(option: int, *arguments: int | ctypes.c_void_p) -> int:
    if _libc is None:
        return -1
    values = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments]
    values += [ctypes.c_ulong(0)] * (4 - len(values))
    return int(_libc.prctl(option, *values))


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    assert _libc is not None
    return int(_libc.syscall(*(ctypes.c_long(a) if isinstance(a, int) else a
                               for a in (number, *arguments))))  # fmt: skip


# --- Landlock: the same system call numbers on every processor ---

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
#: Bits of file access each version of Landlock knows (13 in the first).
_FILE_BITS = {1: 13, 2: 14, 3: 15, 4: 15}


def _code_directories() -> set[str]:
    """Where modules that are imported late may lie; not the project itself, which may hold an
    operator's secrets beside its code."""
    package = Path(__file__).resolve().parents[1]
    found = {path for path in sys.path if path and Path(path).resolve() != package.parent}
    return found | {str(package), "/lib", "/lib64", "/usr/lib"}


def _landlock() -> bool:
    version = _syscall(_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return False
    files = (1 << _FILE_BITS.get(version, 16)) - 1
    network = 0b11 if version >= 4 else 0  # bind and connect
    scopes = 0b11 if version >= 6 else 0  # abstract sockets, signals
    attributes = struct.pack("=QQQ", files, network, scopes)
    size = 24 if scopes else 16 if network else 8
    ruleset = _syscall(_CREATE_RULESET, attributes, size, 0)
    if ruleset < 0:
        return False
    for directory in _code_directories():
        try:
            where = os.open(directory, os.O_PATH)
        except OSError:
            continue
        _syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", _READ_FILE | _READ_DIR, where), 0)
        os.close(where)
    done = _syscall(_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return done


# --- seccomp: a filter over system call numbers, for the two processors PyTorch is built for ---

#: machine -> audit code, column of the tables below
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

#: Refused outright: name, number on x86_64, number on aarch64 (- where it has none).
_REFUSED = """
execve 59 221, execveat 322 281, fork 57 -, vfork 58 -, ptrace 101 117,
process_vm_readv 310 270, process_vm_writev 311 271, pidfd_open 434 434, pidfd_getfd 438 438,
pidfd_send_signal 424 424, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240,
socket 41 198, socketpair 53 199, bind 49 200, listen 50 201, accept 43 202, accept4 288 242,
connect 42 203, sendmsg 46 211, io_uring_setup 425 425, bpf 321 280, perf_event_open 298 241,
userfaultfd 323 282, memfd_create 319 279, shmget 29 194, semget 64 190, msgget 68 186,
mq_open 240 180, add_key 248 217, request_key 249 218, keyctl 250 219,
creat 85 -, mkdir 83 -, rmdir 84 -, link 86 -, unlink 87 -, symlink 88 -, rename 82 -, mknod 133 -,
mkdirat 258 34, linkat 265 37, unlinkat 263 35, symlinkat 266 36, renameat 264 38,
renameat2 316 276, mknodat 259 33, truncate 76 45, ftruncate 77 46, chmod 90 -, fchmod 91 52,
fchmodat 268 53, chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54, utime 132 -,
utimes 235 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7,
mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, setns 308 268, unshare 272 97,
open_by_handle_at 304 265, reboot 169 142, swapon 167 224, kexec_load 246 104,
init_module 175 105, finit_module 313 273, settimeofday 164 170, clock_settime 227 112,
fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, move_mount 429 429,
open_tree 428 428, mount_setattr 442 442,
setpriority 141 140, sched_setaffinity 203 122, sched_setscheduler 144 119, sched_setattr 314 274,
sched_setparam 142 118, ioprio_set 251 30, setrlimit 160 164,
setitimer 38 103, setuid 105 146, setreuid 113 145, setresuid 117 147
"""
#: Said to be unknown, so that the C library uses the older call, whose arguments can be seen.
_UNKNOWN = "clone3 435 435, openat2 437 437"
#: Refused by an argument: (its number, test, value) under which the call is let through. The filter
#: sees two words of 32 bits; the kernel itself takes only the lower one of those but a pointer.
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CONDITIONAL = {
    "open 2 -": (1, "without", _WRITING),
    "openat 257 56": (2, "without", _WRITING),
    "clone 56 220": (0, "with", 0x10000),  # CLONE_THREAD
    "kill 62 129": (0, "equal", -1),  # -1 stands for this process
    "tkill 200 130": (0, "equal", -1),
    "tgkill 234 131": (0, "equal", -1),
    "prlimit64 302 261": (2, "null", 0),  # asking is fine, setting is not
}

_LOAD, _JUMP_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_JUMP_ABOVE = 0x35
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def _seccomp() -> bool:
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.maxsize < 2**32:
        return False
    code = b"".join(struct.pack("=HBBI", *step) for step in _filter(*machine))
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(held))
    return _prctl(_PR_SET_SECCOMP, 2, ctypes.c_char_p(program)) == 0  # type: ignore[arg-type]


def _filter(audit: int, column: int) -> list[tuple[int, int, int, int]]:
    """The steps (operation, jump if true, jump if false, value) of the filter."""
    refuse = (_RETURN, 0, 0, _ERROR | errno.EPERM)
    allow = (_RETURN, 0, 0, _ALLOW)
    steps = [(_LOAD, 0, 0, 4), (_JUMP_EQUAL, 1, 0, audit), refuse, (_LOAD, 0, 0, 0)]
    steps += [(_JUMP_ABOVE, 0, 1, 0x40000000), refuse]  # x86_64's second set of numbers
    for text, (argument, test, value) in _CONDITIONAL.items():
        for number in _numbers(text, column):
            jump = _JUMP_EQUAL if test == "equal" else _JUMP_SET
            value = os.getpid() if value == -1 else value
            hit, miss = (refuse, allow) if test == "without" else (allow, refuse)
            low, high = ((_LOAD, 0, 0, 16 + 8 * argument + word) for word in (0, 4))
            look = [low, (jump, 0, 1, value), hit, miss]
            if test == "null":
                look = [low, (_JUMP_EQUAL, 0, 3, 0), high, (_JUMP_EQUAL, 0, 1, 0), allow, refuse]
            steps += [(_JUMP_EQUAL, 0, len(look), number), *look]
    for text, code in ((_UNKNOWN, errno.ENOSYS), (_REFUSED, errno.EPERM)):
        for number in _numbers(text, column):
            steps += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | code)]
    return [*steps, allow]


def _numbers(table: str, column: int) -> list[int]:
    found = (entry.split()[1:][column] for entry in table.replace("\n", " ").split(","))
    return [int(number) for number in found if number != "-"]
