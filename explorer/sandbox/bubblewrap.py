"""The second wall: the sandbox's server inside bubblewrap, where that is installed.

Namespaces of its own: there are no files but installed code, the app's private folder and what
imports need, no network and no other processes. Nothing is paid for it when a program runs.
https://github.com/containers/bubblewrap

`describe_walls` says which of both walls stand.
"""

from __future__ import annotations

import functools
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from explorer.sandbox.kernel import CAP_SYS_ADMIN, has_capability, memory_events
from explorer.sandbox.scratch import can_be_watched
from explorer.sandbox.walls import (
    code_directories,
    interpreter_files,
    may_write,
    missing,
    package_directory,
    python_path,
)

_PROGRAM = "bwrap"
_OPTIONS = (
    "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
    "--die-with-parent", "--proc", "/proc", "--tmpfs", "/tmp",
    "--dev-bind", "/dev/null", "/dev/null", "--dev-bind", "/dev/urandom", "/dev/urandom",
)  # fmt: skip
#: To mount a folder in memory for each child, which the server gives up, and to let children give
#: way. A child gives up both before it runs anything.
_PRIVILEGES = ("CAP_SYS_ADMIN", "CAP_SYS_NICE")
#: Of root's privileges also: to make each child another user, and to read code wherever it is.
_ROOTS = ("CAP_SETUID", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH")
#: Where the system says what the processor can: without it torch picks other kernels, and the last
#: digits of sums differ. And where the libraries are that are linked by name alone.
_ALSO = ("/sys/devices/system/cpu", "/etc/ld.so.cache")
#: Python starts, finds packages, and does not see everything.
_TRIAL = """
import importlib.util, os, sys
if not all(map(importlib.util.find_spec, ("torch", "numpy"))):
    sys.exit("packages are not seen inside")
if os.path.exists(sys.argv[1]):
    sys.exit("it hides nothing")
"""
#: Seconds for the trial.
_PATIENCE = 20.0

#: Why the wall was given up, if it was.
_given_up: list[str] = []
_is_confirmed = False


def failure() -> str:
    """Why there is no second wall on this machine, as a clause; empty if there is."""
    return _given_up[0] if _given_up else _tried()


def confirm() -> None:
    """A server has started behind it."""
    global _is_confirmed
    _is_confirmed = True


def give_up() -> None:
    """A server has ended before it listened. If none has ever started behind the wall, there is
    none from now on: a library of torch may lie where the trial did not look."""
    if not (_is_confirmed or _given_up):
        _given_up.append("no server starts behind bubblewrap")
        logging.getLogger(__name__).warning("There is no second wall: %s.", *_given_up)


@functools.cache
def _tried() -> str:
    if shutil.which(_PROGRAM) is None:
        return f"{_PROGRAM} is not installed"
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as unseen:
        command = [*wrapped("explorer", directory), sys.executable, "-P", "-c", _TRIAL]
        environment = {"PYTHONPATH": python_path(), "PATH": os.defpath}
        try:
            done = subprocess.run(
                [*command, unseen], env=environment, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=_PATIENCE, check=False, cwd="/",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"{_PROGRAM} did not start within {_PATIENCE:g} s"
        except OSError as error:
            return str(error)
    said = done.stderr.strip().splitlines() or [f"{_PROGRAM} ended with {done.returncode}"]
    return said[-1].rstrip(".") if done.returncode else ""


def wrapped(jobs: str, directory: str) -> list[str]:
    """What goes before the command of a server with this module of jobs and this private folder.

    Root keeps its own user namespace: only so each child can be another user, whose threads the
    kernel counts.
    """
    program = shutil.which(_PROGRAM)
    assert program is not None
    is_root = os.geteuid() == 0
    user = ["--cap-drop", "ALL"] if is_root else ["--unshare-user"]
    user += [part for name in (*_PRIVILEGES, *_ROOTS * is_root) for part in ("--cap-add", name)]
    read = [*code_directories(), *interpreter_files(), package_directory(jobs), *map(Path, _ALSO)]
    return [
        program, *_OPTIONS, *user, *_binds([*read, *memory_events()]),
        "--bind", directory, directory, "--",
    ]  # fmt: skip


def _binds(paths: Iterable[Path]) -> list[str]:
    """Of a folder and one inside it, the outer first, which would hide the other."""
    names = sorted({os.path.abspath(path) for path in paths})
    return [part for name in names for part in ("--ro-bind-try", name, name)]


def has_all_walls() -> bool:
    """Whether both walls stand."""
    return not missing() and not failure()


def describe_walls() -> str:
    """Which walls stand on this machine, for whoever runs it: the first, the kernel's restrictions
    of each child, and the second, bubblewrap around all of them."""
    lacking = missing()
    if lacking:
        first = f"The first wall lacks {' and '.join(lacking)}: only local readers are served."
    else:
        first = "The first wall stands: Landlock and seccomp confine each program."
        if not may_write():
            first += " Programs cannot write files: Landlock is older than version 3 (Linux 6.2)."
        elif not (can_be_watched() or has_capability(CAP_SYS_ADMIN)):
            first += " Programs cannot write files: root lacks the capability SYS_PTRACE here."
    reason = failure()
    if reason:
        return f"{first} There is no second wall: {reason}."
    return f"{first} The second stands: bubblewrap confines the server that runs programs."
