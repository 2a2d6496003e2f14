"""The second wall: the sandbox's server inside bubblewrap, where that is installed.

Namespaces of its own: there are no files but installed code, the app's private folder and what
imports need, no network and no other processes. Nothing is paid for it when a program runs.
https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from explorer.sandbox.installed_code import (
    code_directories,
    interpreter_files,
    package_directory,
    python_path,
)
from explorer.sandbox.kernel_reports import memory_events

_PROGRAM = "bwrap"
_OPTIONS = (
    "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
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
#: A server can import what it needs, has a folder in memory, and does not see everything.
_TRIAL = """
import importlib.util, os, sys
from explorer.sandbox import libc
scratch, unseen = sys.argv[1:]
assert all(map(importlib.util.find_spec, ("torch", "numpy"))), "packages are not seen"
assert libc.mount_in_memory(scratch, ""), "nothing can be mounted"
assert not os.path.exists(unseen), "it hides nothing"
"""
#: Seconds for the trial.
_PATIENCE = 20.0


@functools.cache
def failure() -> str:
    """Why there is no second wall on this machine; empty if there is."""
    if shutil.which(_PROGRAM) is None:
        return f"{_PROGRAM} is not installed"
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as unseen:
        scratch = os.path.join(directory, "scratch")
        os.mkdir(scratch)
        command = [*wrapped("explorer", directory), sys.executable, "-P", "-c", _TRIAL]
        environment = {"PYTHONPATH": python_path(), "PATH": os.defpath}
        try:
            done = subprocess.run(
                [*command, scratch, unseen], env=environment, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=_PATIENCE, check=False, cwd="/",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"{_PROGRAM} did not start within {_PATIENCE:g} s"
        except OSError as error:
            return str(error)
    said = done.stderr.strip().splitlines() or [f"{_PROGRAM} ended with {done.returncode}"]
    return said[-1] if done.returncode else ""


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
