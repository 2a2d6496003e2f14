"""Which walls stand around the programs on this machine, in a sentence for whoever runs it."""

from __future__ import annotations

from explorer.sandbox import bubblewrap
from explorer.sandbox.kernel_restrictions import may_write, missing
from explorer.sandbox.libc import CAP_SYS_ADMIN, has_capability
from explorer.sandbox.scratch import can_be_watched


def has_all_walls() -> bool:
    """Whether both walls stand."""
    return not missing() and not bubblewrap.failure()


def describe_walls() -> str:
    """The first wall, the kernel's restrictions of each child, and the second, bubblewrap around
    all of them."""
    lacking = missing()
    if lacking:
        first = f"The first wall lacks {' and '.join(lacking)}: only local readers are served."
    else:
        first = "The first wall stands: Landlock and seccomp confine each program."
        if not may_write():
            first += " Programs cannot write files: Landlock is older than version 3 (Linux 6.2)."
        elif not (can_be_watched() or has_capability(CAP_SYS_ADMIN)):
            first += " Programs cannot write files: root lacks the capability SYS_PTRACE here."
    failure = bubblewrap.failure()
    if failure:
        return f"{first} There is no second wall: {failure}."
    return f"{first} The second stands: bubblewrap confines the server that runs programs."
