"""Which walls stand around the programs on this machine, in a sentence for whoever runs it."""

from __future__ import annotations

from explorer.sandbox import bubblewrap
from explorer.sandbox.kernel_restrictions import may_write, missing


def describe_walls() -> str:
    """The first wall, the kernel's restrictions of each child, and the second, bubblewrap around
    all of them."""
    lacking = missing()
    if lacking:
        first = f"The first wall lacks {' and '.join(lacking)}: only local readers are served."
    else:
        first = "The first wall stands: Landlock and seccomp."
        if not may_write():
            first += " Programs cannot write files: Landlock is older than version 3 (Linux 6.2)."
    failure = bubblewrap.failure()
    second = f"There is no second wall: {failure}." if failure else "The second stands: bubblewrap."
    return f"{first} {second}"
