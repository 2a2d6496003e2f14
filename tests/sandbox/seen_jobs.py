"""The same jobs, and what a server sees of the machine before its children's own wall stands."""

import os
from contextlib import suppress
from pathlib import Path

from tests.sandbox.jobs import JOBS

__all__ = ["JOBS", "SEEN"]

SEEN: dict[str, list[str]] = {}
for _folder in (
    "/etc", "/proc", "/dev", "/sys/class/net", "/tmp",
    str(Path(__file__).parents[2]), os.path.expanduser("~"), "/root",
):  # fmt: skip
    SEEN[_folder] = []
    with suppress(OSError):
        SEEN[_folder] = os.listdir(_folder)
