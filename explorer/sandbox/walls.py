"""The walls around one child: what is taken from it before it receives an untrusted program, and
what it may use. None of this can be undone by the program.

It keeps one file descriptor, no environment, and of root's privileges only reading; time, memory,
files and threads are limited. On Linux Landlock leaves only installed code readable and one folder
writable (https://docs.kernel.org/userspace-api/landlock.html), and seccomp allows only the system
calls of a list (system_calls.py); neither needs privileges. A second wall stands around the server
and all its children: bubblewrap.py. (The server imports this file, so it must not import torch.)
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import math
import os
import secrets
import signal
import site
import struct
import sys
import sysconfig
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from explorer import limits
from explorer.sandbox import kernel, system_calls

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


class Walls(StrEnum):
    """What the operator wants of the kernel, from the strictest."""

    NARROW = "narrow"  #: only the system calls of a list are allowed
    WIDE = "wide"  #: all are allowed but those of a list, where the narrow walls break programs


#: What a child keeps of root's privileges: to read code wherever it is installed.
KEPT_CAPABILITIES = kernel.CAP_DAC_OVERRIDE | kernel.CAP_DAC_READ_SEARCH

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
#: Users that nobody is, one for each child.
_FIRST_USER = 2**30


# --- the process: one descriptor, no environment, time, memory, files and threads ---


def isolate_fork(keep: int) -> None:
    """Leave this forked child the file descriptor `keep` and no environment.

    For a fresh fork on Linux only: it closes every other descriptor of the process.
    """
    die_with_parent()
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != keep:
            with contextlib.suppress(OSError):  # the one used by listdir is already closed
                os.close(int(name))
    os.environ.clear()


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that forked it ends."""
    kernel.prctl(_PR_SET_PDEATHSIG, 9)


def set_time_limit(seconds: float) -> None:
    """End this process after this much wall time, even inside a running operator."""
    if not hasattr(signal, "setitimer"):
        return  # Windows: only the server ends it
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    cpu = math.ceil(time.process_time() + seconds) + 1  # a fallback: normally the timer fires first
    _set_limit("RLIMIT_CPU", cpu, cpu + 1)  # if they were equal, the kernel would send SIGKILL


def apply_limits(memory: int, walls: Walls, folder: str | None) -> None:
    """Limit this process's memory (in bytes, beyond what it has now), files, threads and
    privileges, and apply the kernel's restrictions. It may write in the folder, if there is one.
    Raises OSError if these do not work."""
    threads = 0
    if sys.platform == "linux":
        # When memory runs out, the kernel kills children first. Some containers forbid this.
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
        _drop_privileges()
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        _set_limit("RLIMIT_AS", size + memory)
        if "seccomp" not in missing():  # which refuses new processes
            threads = _threads_of_user() + limits.PROGRAM_THREADS
    if resource is not None:
        _set_limit("RLIMIT_NPROC", threads)
        _set_limit("RLIMIT_CORE", 0)
        _set_limit("RLIMIT_FSIZE", limits.SCRATCH_FILE if folder else 0)
        _set_limit("RLIMIT_NOFILE", limits.OPEN_FILES)
    apply_restrictions(walls, folder)


def _drop_privileges() -> None:
    """Give up what makes root more than a user, except reading code wherever it is installed."""
    with contextlib.suppress(OSError):  # only root may
        # The real user, whose threads the kernel counts: it never limits root's.
        os.setresuid(_FIRST_USER + secrets.randbelow(_FIRST_USER), -1, -1)
    kernel.keep_capabilities(KEPT_CAPABILITIES)


def _threads_of_user() -> int:
    """How many threads the user of this process has in all: what RLIMIT_NPROC counts."""
    if os.getuid() != os.geteuid():
        return 0  # a user of its own
    count, user = 0, os.getuid()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):  # the process has ended
                tasks = os.stat(f"/proc/{name}/task")
                count += tasks.st_nlink - 2 if tasks.st_uid == user else 0
    return count


def _set_limit(name: str, soft: int, hard: int | None = None) -> None:
    number = getattr(resource, name, None)
    if number is not None:
        maximum = resource.getrlimit(number)[1]
        hard = soft if hard is None else hard
        if maximum != resource.RLIM_INFINITY:
            soft, hard = min(soft, maximum), min(hard, maximum)
        resource.setrlimit(number, (soft, hard))


# --- the kernel: Landlock for files, seccomp for system calls ---


def apply_restrictions(walls: Walls = Walls.NARROW, folder: str | None = None) -> None:
    """Restrict this process permanently, to writing in the folder where `may_write`. Raises OSError
    if what the system has does not work."""
    kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1)
    folder = folder if may_write() else None
    for _, available, restrict in _MECHANISMS:
        if available():
            restrict(walls, folder)


def missing() -> tuple[str, ...]:
    """The mechanisms that this system does not have."""
    return tuple(name for name, available, _ in _MECHANISMS if not available())


def may_write() -> bool:
    """Whether a program can have a folder to write in, and no way to write elsewhere."""
    return landlock_version() >= _CAN_FORBID_TRUNCATING or bool(missing())


# Landlock's calls have the same numbers on every processor.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
#: To write, read, make, remove, move and truncate files and folders; no links and no devices.
_WRITE = sum(1 << bit for bit in (1, 2, 3, 4, 5, 7, 8, 13, 14))
#: The first version that can forbid truncating, which changes a file without writing to it.
_CAN_FORBID_TRUNCATING = 3
#: How many kinds of file access each version knows, from the first: 14 with moving files to
#: another folder, 15 with truncating, 16 with commands to devices, 17 with connecting to a socket
#: in the file system.
_FILE_ACCESS = (13, 14, 15, 15, 16, 16, 16, 16, 17)


def landlock_version() -> int:
    """The kernel's version of Landlock, from 1; less if it has none or it is switched off."""
    return kernel.syscall(_CREATE_RULESET, None, 0, 1)


def _restrict_files(folder: str | None) -> None:
    """Leave this process installed code to read and this folder to write in, and no other file.
    Raises OSError."""
    known = landlock_version()
    files = (1 << _FILE_ACCESS[min(known, len(_FILE_ACCESS)) - 1]) - 1
    network = 0b11 if known >= 4 else 0  # bind and connect
    scopes = 0b11 if known >= 6 else 0  # abstract sockets, signals
    attributes = struct.pack("=QQQ", files, network, scopes)
    size = 24 if scopes else 16 if network else 8
    ruleset = _must(kernel.syscall(_CREATE_RULESET, attributes, size, 0))
    rights = dict.fromkeys(map(str, code_directories()), _READ_FILE | _READ_DIR)
    for directory, access in (rights | ({folder: _WRITE} if folder else {})).items():
        try:
            descriptor = os.open(directory, os.O_PATH)
        except OSError:
            continue
        rule = struct.pack("=Qi", access & files, descriptor)
        _must(kernel.syscall(_ADD_RULE, ruleset, 1, rule, 0))
        os.close(descriptor)
    _must(kernel.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _must(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock could not be applied")
    return result


#: What this system may have: its name, whether it has it, and how to apply it.
_MECHANISMS: tuple[tuple[str, Callable[[], bool], Callable[[Walls, str | None], None]], ...] = (
    ("Landlock", lambda: landlock_version() >= 1, lambda _, folder: _restrict_files(folder)),
    (
        "seccomp",
        system_calls.can_be_restricted,
        lambda walls, folder: system_calls.restrict(walls is Walls.WIDE, folder is not None),
    ),
)


# --- installed code: what a child may read, and all that the server is shown by bubblewrap ---

#: Where the libraries lie that Python's own are linked with.
_SYSTEM = ("/lib", "/lib64", "/usr/lib")
#: How a folder of packages is called, wherever it is.
_PACKAGES = ("site-packages", "dist-packages")


def code_directories() -> list[Path]:
    """The folders that hold Python's library or packages, as they are named and where their links
    lead. Never a prefix, a home, or a folder above them, where secrets lie, too; and of the
    project, whose root may hold an operator's, only the package."""
    named = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    named += [*site.getsitepackages(), *(p for p in sys.path if Path(p).name in _PACKAGES)]
    paths = [*map(Path, named), package_directory("explorer"), *map(Path, _SYSTEM)]
    existing = [path for path in paths if path.is_dir()]
    return list(dict.fromkeys([*existing, *(path.resolve() for path in existing)]))


def package_directory(name: str) -> Path:
    """The folder of an importable package, which is not imported."""
    found = importlib.util.find_spec(name.partition(".")[0])
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"there is no package {name}")
    return Path(found.submodule_search_locations[0])


def interpreter_files() -> list[Path]:
    """What starts Python besides those folders: its program, a shared library, and the file that
    says where a virtual environment has its library."""
    library = Path(*(sysconfig.get_config_var(name) or "" for name in ("LIBDIR", "INSTSONAME")))
    base = getattr(sys, "_base_executable", sys.executable)
    paths = [Path(sys.executable), Path(base), Path(sys.prefix, "pyvenv.cfg"), library]
    existing = [path for path in paths if os.path.isfile(path)]  # False also where it is hidden
    return list(dict.fromkeys([*existing, *(path.resolve() for path in existing)]))


def python_path() -> str:
    """The PYTHONPATH with which a new process finds the same modules."""
    root = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
