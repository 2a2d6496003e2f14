"""The system calls of a child: which a program needs and why, which no program ever needs, and the
filter that is made of these tables (https://docs.kernel.org/userspace-api/seccomp_filter.html).

A call is written as its name, its number on x86_64 and its number on aarch64 (- where it has none).
A call in CHECKED is allowed only with certain arguments, so that a group may name it without
allowing all that it can do.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
from dataclasses import dataclass
from typing import Literal

from explorer.sandbox import kernel

#: Stands for the process's own id in CHECKED.
SELF = -1


@dataclass(frozen=True)
class Group:
    """System calls that are allowed for one reason; those of a group that `writes` only where
    Landlock keeps them in a folder."""

    name: str
    reason: str
    calls: str
    writes: bool = False


@dataclass(frozen=True)
class Check:
    """A test of one argument (its index): whether its lower 32 bits, all that the kernel uses of
    these, are one of `values`, none of them, or have none of their bits; or whether it is null."""

    argument: int
    test: Literal["one of", "none of", "without", "null"]
    values: tuple[int, ...] = (0,)


#: What a child may call. The self-test has an example for each group.
GROUPS = (
    Group(
        "memory",
        "allocators; libraries that make machine code at run time (oneDNN) need it writable and "
        "executable at once",
        "mmap 9 222, munmap 11 215, mprotect 10 226, mremap 25 216, brk 12 214, madvise 28 233",
    ),
    Group(
        "files",
        "modules that are imported late, and the source lines of error messages; Landlock decides "
        "which files",
        "open 2 -, openat 257 56, read 0 63, pread64 17 67, readv 19 65, close 3 57, lseek 8 62, "
        "fstat 5 80, newfstatat 262 79, stat 4 -, lstat 6 -, statx 332 291, access 21 -, "
        "faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78, "
        "getdents64 217 61, getcwd 79 17, fcntl 72 25, ioctl 16 29",
    ),
    Group(
        "scratch",
        "files and folders that a program writes in the one folder it has",
        "creat 85 -, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35, "
        "rename 82 -, renameat 264 38, renameat2 316 276, truncate 76 45, ftruncate 77 46, "
        "pwrite64 18 68, chdir 80 49, fchdir 81 50, "
        "dup 32 23, dup2 33 -, dup3 292 24",
        writes=True,
    ),
    Group(
        "event loops",
        "asyncio, which waits for a pair of sockets of its own",
        "epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22, "
        "socketpair 53 199, recvfrom 45 207",
    ),
    Group(
        "answer",
        "the socket to the server, and files of the program's own folder",
        "write 1 64, writev 20 66, sendto 44 206, poll 7 -, ppoll 271 73",
    ),
    Group(
        "threads",
        "operators with several threads, the profiler, the locks of every library",
        "clone 56 220, futex 202 98, set_robust_list 273 99, rseq 334 293, "
        "set_tid_address 218 96, sched_yield 24 124, sched_getaffinity 204 123, getcpu 309 168, "
        "prctl 157 167, exit 60 93, gettid 186 178",
    ),
    Group(
        "clocks",
        "time, waiting, and the processor time used",
        "clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169, time 201 -, "
        "clock_nanosleep 230 115, nanosleep 35 101, restart_syscall 219 128, times 100 153, "
        "getrusage 98 165",
    ),
    Group(
        "signals",
        "a process that crashes ends itself; handlers of its own",
        "rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132, "
        "kill 62 129, tkill 200 130, tgkill 234 131, exit_group 231 94",
    ),
    Group(
        "questions",
        "what a process may know of itself and of the machine, and random numbers",
        "getpid 39 172, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176, "
        "getegid 108 177, uname 63 160, sysinfo 99 179, getrlimit 97 163, prlimit64 302 261, "
        "getrandom 318 278, arch_prctl 158 -",
    ),
)

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
#: Of a file without a name, which nobody can count.
_NAMELESS = os.O_TMPFILE & ~os.O_DIRECTORY
_OUT_OF_BAND = 1  # MSG_OOB
#: The flags with which the C library starts a thread, and never a process.
_THREAD = 0x3D0F00
_TIME_SIGNALS = (signal.SIGALRM, signal.SIGXCPU)

#: By call: the checks that it has to pass.
CHECKED: dict[str, tuple[Check, ...]] = {
    "open": (Check(1, "without", (_NAMELESS,)),),
    "openat": (Check(2, "without", (_NAMELESS,)),),
    "renameat2": (Check(4, "without", (4,)),),  # RENAME_WHITEOUT, which makes a device
    "socketpair": (Check(0, "one of", (1,)),),  # AF_UNIX
    "fcntl": (Check(1, "one of", (1, 2, 3, 1030)),),  # GETFD, SETFD, GETFL, DUPFD_CLOEXEC
    "ioctl": (Check(1, "one of", (0x5401, 0x5421, 0x5451)),),  # is it a terminal, FIONBIO, FIOCLEX
    "madvise": (Check(2, "none of", (100, 101)),),  # which pretend that memory is broken
    # No address: only to the other end. Data out of band are rarely used, and often broken.
    "sendto": (Check(3, "without", (_OUT_OF_BAND,)), Check(4, "null")),
    "recvfrom": (Check(3, "without", (_OUT_OF_BAND,)),),
    "clone": (Check(0, "one of", (_THREAD,)),),
    # SET_NAME, GET_NAME, CAPBSET_READ, SVE_GET_VL (vector length on aarch64)
    "prctl": (Check(0, "one of", (15, 16, 23, 51)),),
    "arch_prctl": (Check(0, "one of", (0x1021, 0x1022, 0x1023)),),  # permission for AMX registers
    # The signals of the time limits keep their default action. Blocking them cannot be refused,
    # since every new thread blocks all signals for a moment; the server ends such a child.
    "rt_sigaction": (Check(0, "none of", _TIME_SIGNALS),),
    "kill": (Check(0, "one of", (SELF,)),),
    "tkill": (Check(0, "one of", (SELF,)),),
    "tgkill": (Check(0, "one of", (SELF,)),),
    "prlimit64": (Check(2, "null"),),  # asking is fine, setting is not
}

#: Where no folder can be written in.
READ_ONLY: dict[str, tuple[Check, ...]] = {
    "open": (Check(1, "without", (_WRITING | _NAMELESS,)),),
    "openat": (Check(2, "without", (_WRITING | _NAMELESS,)),),
}

#: What seems to succeed and does nothing: the folder goes with the child, and whoever waits for the
#: disk cannot be ended.
PRETENDED = "fsync 74 82, fdatasync 75 83, sync_file_range 277 84, msync 26 227"

#: What ends the child at once: no library asks for these on the way to something else.
HOSTILE = """
execve 59 221, execveat 322 281, ptrace 101 117, process_vm_readv 310 270,
process_vm_writev 311 271, process_madvise 440 440, pidfd_getfd 438 438, bpf 321 280,
userfaultfd 323 282, io_uring_setup 425 425, mount 165 40, umount2 166 39, pivot_root 155 41,
chroot 161 51, setns 308 268, unshare 272 97, open_by_handle_at 304 265, fsopen 430 430,
fsmount 432 432, move_mount 429 429, open_tree 428 428, open_tree_attr 467 467,
mount_setattr 442 442, kexec_load 246 104,
kexec_file_load 320 294, init_module 175 105, finit_module 313 273, delete_module 176 106,
reboot 169 142, swapon 167 224, swapoff 168 225, keyctl 250 219, add_key 248 217,
request_key 249 218, iopl 172 -, ioperm 173 -, acct 163 89, quotactl 179 60
"""

#: The wide walls refuse these (and HOSTILE) and allow the rest, including calls of future kernels.
REFUSED = """
fork 57 -, vfork 58 -, pidfd_open 434 434, pidfd_send_signal 424 424, rt_sigqueueinfo 129 138,
rt_tgsigqueueinfo 297 240, socket 41 198, bind 49 200, listen 50 201,
accept 43 202, accept4 288 242, connect 42 203, sendmsg 46 211, sendmmsg 307 269,
perf_event_open 298 241, memfd_create 319 279, memfd_secret 447 447,
shmget 29 194, shmat 30 196, shmctl 31 195, semget 64 190, semctl 66 191, semop 65 193,
semtimedop 220 192, io_setup 206 0, vmsplice 278 75, getxattr 191 8, lgetxattr 192 9,
fgetxattr 193 10, getxattrat 464 464, listxattr 194 11, llistxattr 195 12, flistxattr 196 13,
listxattrat 465 465, statmount 457 457,
msgget 68 186, msgctl 71 187, msgsnd 69 189, msgrcv 70 188, mq_open 240 180, mq_unlink 241 181,
link 86 -, symlink 88 -, mknod 133 -,
linkat 265 37, symlinkat 266 36,
mknodat 259 33, fallocate 285 47, chmod 90 -,
fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -,
fchownat 260 54, utime 132 -, utimes 235 -, utimensat 280 88, futimesat 261 -, setxattr 188 5,
lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16,
setxattrat 463 463, removexattrat 466 466,
file_getattr 468 468, file_setattr 469 469, name_to_handle_at 303 264, listmount 458 458,
getsockopt 55 209, inotify_init 253 -, inotify_init1 294 26,
inotify_add_watch 254 27, fanotify_init 300 262, flock 73 32, syslog 103 116, settimeofday 164 170,
clock_settime 227 112, clock_adjtime 305 266, adjtimex 159 171, fsconfig 431 431, fspick 433 433,
setpriority 141 140, sched_setaffinity 203 122, sched_setscheduler 144 119, sched_setattr 314 274,
sched_setparam 142 118, ioprio_set 251 30, setrlimit 160 164, alarm 37 -, setitimer 38 103,
timer_create 222 107, timerfd_create 283 85, personality 135 92, setuid 105 146, setreuid 113 145,
setresuid 117 147, setgid 106 144, setregid 114 143, setresgid 119 149, setgroups 116 159,
setfsuid 122 151, setfsgid 123 152, capset 126 91, setpgid 109 154, setsid 112 157,
sethostname 170 161, setdomainname 171 162, umask 95 166
"""
#: What a newer C library tries first. Reported as unknown, so that it uses the older call, whose
#: arguments can be checked.
UNKNOWN = "clone3 435 435, openat2 437 437"


def numbers(table: str, machine: str) -> dict[str, int]:
    """The names and numbers of the calls in a table that `machine` has."""
    column = ("x86_64", "aarch64").index(machine) + 1
    entries = (entry.split() for entry in table.replace("\n", " ").split(","))
    return {entry[0]: int(entry[column]) for entry in entries if entry[column] != "-"}


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


def can_be_restricted() -> bool:
    """Whether this kernel can filter system calls, and we know their numbers on this processor."""
    if platform.machine() not in _MACHINES or sys.maxsize < 2**32:
        return False
    action = struct.pack("=I", _KILL_PROCESS)
    return kernel.syscall(_MACHINES[platform.machine()][1], _GET_ACTION, 0, action) == 0


def restrict(wide: bool, writes: bool) -> None:
    """Filter this process's system calls from now on. Raises OSError."""
    machine = platform.machine()
    code = b"".join(struct.pack("=HBBI", *step) for step in make_filter(machine, wide, writes))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    if kernel.syscall(_MACHINES[machine][1], _SET_FILTER, _ALL_THREADS, program) != 0:
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
