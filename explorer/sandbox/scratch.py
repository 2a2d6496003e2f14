"""The folder that a program may write in: its child's working directory, gone with the child.

It is in memory, and the kernel limits it, where a child may mount one. Elsewhere the server watches
it, which is slower than a program that fills it. (The server imports this file, so it must not
import torch.)
"""

from __future__ import annotations

import itertools
import os
import queue
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from explorer import limits
from explorer.sandbox import kernel

#: When a folder was last changed in which nothing has been made, in nanoseconds.
_UNTOUCHED = 0
#: Bytes of /proc/PID/maps that are read: those of torch are 100 kB. How a file is called there that
#: has no name any more.
_MAPS, _GONE = 2**20, b"(deleted)"
#: Times a folder is removed in which a process that is being killed still writes, and the seconds
#: between them.
_TRIES, _PAUSE = 40, 0.05


def enter(root: str) -> str | None:
    """In a child: make its folder, and be there; None where there can be none, or nobody would see
    how much is in it."""
    try:
        size, files = limits.SCRATCH_BYTES, limits.SCRATCH_FILES
        if kernel.mount_in_memory(root, f"size={size},nr_inodes={files},mode=700"):
            folder = root
        elif can_be_watched():
            folder = f"{root}/{os.getpid()}"
            os.mkdir(folder, 0o700)
            os.utime(folder, ns=(_UNTOUCHED, _UNTOUCHED))
        else:
            return None
        os.chdir(folder)
    except OSError:
        return None
    return folder


def can_be_watched() -> bool:
    """Whether a server with the privileges of this process sees what its children hold open: those
    of root are other users."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return not is_root or kernel.has_capability(kernel.CAP_SYS_PTRACE)


class Scratch:
    """The server's side: the folders that are not in memory, by the process ids of their
    children."""

    def __init__(self, root: Path) -> None:
        self._root, self._numbers = root, itertools.count()
        self._left: queue.SimpleQueue[str] = queue.SimpleQueue()
        # A child may leave more than can be removed while readers wait.
        threading.Thread(target=self._remove_left, name="scratch", daemon=True).start()

    def is_used(self, pid: int) -> bool:
        """Whether the child has made anything in its folder, which it may have removed since. A
        folder in memory is not looked at."""
        with suppress(OSError):
            return os.stat(self._root / str(pid)).st_mtime_ns != _UNTOUCHED
        return False

    def is_too_full(self, pid: int) -> bool:
        """Whether the child, which does nothing meanwhile, has written more than it may."""
        top = str(self._root / str(pid))
        if not self.is_used(pid):
            return False
        try:
            return self._is_too_full(pid, top)
        except Exception:  # a path that is too long, or something that was not thought of
            return not kernel.has_ended(pid)

    def _is_too_full(self, pid: int, top: str) -> bool:
        size, entries, folders = _deleted(pid, top), 0, [top]
        while folders:
            # One that is removed or renamed just now, or a file in its place.
            with suppress(FileNotFoundError, NotADirectoryError), _scan(folders.pop()) as found:
                for entry in found:
                    entries += 1
                    if entries > limits.SCRATCH_FILES:
                        return True
                    with suppress(FileNotFoundError):  # removed or renamed just now
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
                        else:
                            size += _size(entry.stat(follow_symlinks=False))
        return size > limits.SCRATCH_BYTES

    def drop(self, pid: int) -> None:
        """Forget the folder of a child that has ended."""
        gone = f"{self._root}/gone-{next(self._numbers)}"
        with suppress(OSError):  # it is in memory; what cannot be moved goes with the server
            os.rename(self._root / str(pid), gone)
            self._left.put(gone)

    def _remove_left(self) -> None:
        while True:
            remove_at_last(self._left.get())


def _scan(folder: str) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
    """As os.scandir; a program may have made a folder that cannot be read."""
    try:
        return os.scandir(folder)
    except PermissionError:
        os.chmod(folder, 0o700)
        return os.scandir(folder)


def _size(stat: os.stat_result) -> int:
    """The bytes that a file takes; on Windows those that it has."""
    blocks: int | None = getattr(stat, "st_blocks", None)
    return stat.st_size if blocks is None else 512 * blocks


def _deleted(pid: int, folder: str) -> int:
    """The bytes of files that have no name any more, and that the process has open. Of one that it
    has mapped the size is not known. Raises PermissionError where that is not to be seen."""
    size, process, name = 0, Path("/proc", str(pid)), os.fsencode(folder)
    with suppress(FileNotFoundError, ProcessLookupError):  # it ends, or this is not Linux
        for link in (process / "fd").iterdir():
            if os.readlink(link).endswith(" (deleted)"):
                size += _size(link.stat())
        with (process / "maps").open("rb") as file:
            lines = file.read(_MAPS).split(b"\n")  # a name may contain all other ends of lines
            size += limits.SCRATCH_BYTES * bool(file.read(1))  # nobody needs so many
        mapped = {line.split(None, 5)[4] for line in lines[:-1] if name in line and _GONE in line}
        size += limits.SCRATCH_FILE * len(mapped)
    return size


def remove_at_last(folder: str) -> None:
    """Remove a folder in which processes may write that are being killed."""
    for _ in range(_TRIES):
        try:
            remove(folder)
        except OSError:  # also where somebody else removes it, or moves what is in it
            if not os.path.lexists(folder):
                return
            time.sleep(_PAUSE)
        else:
            return


def remove(folder: str) -> None:
    """Remove a folder with all that is in it. What is deeper than a folder's folders is moved up
    first: no path becomes too long. Raises OSError."""
    os.chmod(folder, 0o700)
    while entries := list(os.scandir(folder)):
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _lift(entry.path, folder)
                os.rmdir(entry.path)
            else:
                os.unlink(entry.path)
    os.rmdir(folder)


def _lift(folder: str, place: str) -> None:
    """Empty a folder, whose own folders are moved to the place."""
    os.chmod(folder, 0o700)
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, 0o700)  # its link to above is written
            os.rename(entry.path, f"{place}/{secrets.token_hex(16)}")
        else:
            os.unlink(entry.path)
