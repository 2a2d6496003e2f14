"""What whoever runs the app may set, as environment variables read once at the start."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from explorer.sandbox.limits import MEMORY

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


class OptionError(ValueError):
    """A variable's value cannot be used; the message is one sentence that names it."""


@dataclass(frozen=True)
class Options:
    """`processes` run at the same time; each may add `memory` MB to what it starts with, and a
    program has `seconds`."""

    processes: int
    memory: int = MEMORY >> 20
    seconds: float = 5.0


#: Variable -> field, least and largest value.
VARIABLES = {
    "EXPLORER_PROCESSES": ("processes", 1, 64),
    "EXPLORER_MEMORY_MB": ("memory", 128, 65536),
    "EXPLORER_SECONDS": ("seconds", 1, 60),
}


def read(environment: Mapping[str, str]) -> Options:
    """The options in `environment`, which may name none. Raises OptionError."""
    found: dict[str, float] = {"processes": processors()}
    for variable, (field, low, high) in VARIABLES.items():
        text = environment.get(variable, "").strip()
        if text:
            kind = float if field == "seconds" else int
            try:
                value = kind(text)
            except ValueError:
                value = math.nan
            if not low <= value <= high:
                of = "a number" if kind is float else "a whole number"
                raise OptionError(f"{variable} is {text!r}; it can be {of} from {low} to {high}.")
            found[field] = value
    return Options(**found)  # type: ignore[arg-type]


@cache
def options() -> Options:
    """Those of this process. Raises OptionError."""
    return read(os.environ)


def processors() -> int:
    """Those this process may use; a container or a scheduler may have restricted them."""
    count = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text().split()
        return max(1, min(count, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or no limit ("max")
        return count
