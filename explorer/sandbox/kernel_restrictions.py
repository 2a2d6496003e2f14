"""What the Linux kernel forbids a child.

Landlock leaves only installed code readable (landlock.py), and seccomp allows only the system calls
on a list (seccomp.py, system_calls.py). Neither needs privileges, and neither can be undone.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from explorer.sandbox import landlock, libc, seccomp

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


class Walls(StrEnum):
    """What the operator wants of the kernel, from the strictest."""

    NARROW = "narrow"  #: only the system calls of a list are allowed
    WIDE = "wide"  #: all are allowed but those of a list, where the narrow walls break programs


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that forked it ends."""
    libc.prctl(_PR_SET_PDEATHSIG, 9)


#: What this system may have: its name, whether it has it, and how to apply it.
_MECHANISMS: tuple[tuple[str, Callable[[], bool], Callable[[Walls, str | None], None]], ...] = (
    ("Landlock", lambda: landlock.version() >= 1, lambda _, place: landlock.restrict_files(place)),
    (
        "seccomp",
        seccomp.available,
        lambda walls, place: seccomp.restrict_calls(walls is Walls.WIDE, place is not None),
    ),
)


def missing() -> tuple[str, ...]:
    """The mechanisms that this system does not have."""
    return tuple(name for name, available, _ in _MECHANISMS if not available())


def may_write() -> bool:
    """Whether a program can have a folder to write in, and no way to write elsewhere."""
    return landlock.version() >= landlock.WRITING or bool(missing())


def apply_restrictions(walls: Walls = Walls.NARROW, folder: str | None = None) -> None:
    """Restrict this process permanently, to writing in the folder where `may_write`. Raises OSError
    if what the system has does not work."""
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1)
    folder = folder if may_write() else None
    for _, available, restrict in _MECHANISMS:
        if available():
            restrict(walls, folder)
