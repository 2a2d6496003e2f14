"""What the Linux kernel forbids a child, even if its program has escaped from the language.

Landlock leaves only installed code readable, and seccomp refuses new processes, sockets, writing to
files, and access to other processes. Neither needs privileges, neither can be undone, and each is
left out where the kernel lacks it.

https://docs.kernel.org/userspace-api/landlock.html
https://docs.kernel.org/userspace-api/seccomp_filter.html
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


def apply_restrictions() -> tuple[str, ...]:
    """Restrict this process permanently. Returns the names of the mechanisms in force."""
    if _libc is None or _prctl(_PR_SET_NO_NEW_PRIVS, 1) != 0:
        return ()
    mechanisms = {"landlock": _restrict_files, "seccomp": _restrict_system_calls}
    return tuple(name for name, restrict in mechanisms.items() if restrict())


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
    """Where lazily imported modules may lie. Not the project's root, which may also hold an
    operator's secrets."""
    package = Path(__file__).resolve().parents[1]
    paths = {path for path in sys.path if path and Path(path).resolve() != package.parent}
    return paths | {str(package), "/lib", "/lib64", "/usr/lib"}


def _restrict_files() -> bool:
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
            descriptor = os.open(directory, os.O_PATH)
        except OSError:
            continue
        rule = struct.pack("=Qi", _READ_FILE | _READ_DIR, descriptor)
        _syscall(_ADD_RULE, ruleset, 1, rule, 0)
        os.close(descriptor)
    restricted = _syscall(_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return restricted


# --- seccomp: a filter over system call numbers, for the two processors PyTorch is built for ---

#: machine -> audit code, column of the tables below
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

#: Always refused: name, number on x86_64, number on aarch64 (- where it has none).
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
#: Reported as unknown, so that the C library uses the older call, whose arguments can be checked.
_UNKNOWN = "clone3 435 435, openat2 437 437"
#: Allowed depending on an argument: (its index, test, value). The filter sees two 32-bit words per
#: argument; the kernel uses only the lower one of all of these except the pointer.
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CONDITIONAL = {
    "open 2 -": (1, "without", _WRITING),
    "openat 257 56": (2, "without", _WRITING),
    "clone 56 220": (0, "with", 0x10000),  # CLONE_THREAD
    "kill 62 129": (0, "equal", -1),  # -1 means this process
    "tkill 200 130": (0, "equal", -1),
    "tgkill 234 131": (0, "equal", -1),
    "prlimit64 302 261": (2, "null", 0),  # asking is fine, setting is not
}

_LOAD, _JUMP_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_JUMP_ABOVE = 0x35
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def _restrict_system_calls() -> bool:
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.maxsize < 2**32:
        return False
    code = b"".join(struct.pack("=HBBI", *step) for step in _filter(*machine))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
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
            check = [low, (jump, 0, 1, value), hit, miss]
            if test == "null":
                check = [low, (_JUMP_EQUAL, 0, 3, 0), high, (_JUMP_EQUAL, 0, 1, 0), allow, refuse]
            steps += [(_JUMP_EQUAL, 0, len(check), number), *check]
    for text, code in ((_UNKNOWN, errno.ENOSYS), (_REFUSED, errno.EPERM)):
        for number in _numbers(text, column):
            steps += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | code)]
    return [*steps, allow]


def _numbers(table: str, column: int) -> list[int]:
    numbers = (entry.split()[1:][column] for entry in table.replace("\n", " ").split(","))
    return [int(number) for number in numbers if number != "-"]
