"""What the operator of the app may configure: environment variables, read once at the start."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from explorer.sandbox.kernel_restrictions import Walls
from explorer.sandbox.limits import MEMORY

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


class OptionError(ValueError):
    """A variable has an invalid value; the message is one sentence that names the variable."""


@dataclass(frozen=True)
class Options:
    """`processes` run at the same time. Each may use `memory` MB more than it starts with, and each
    program may run for `seconds`. `walls` is what the kernel shall forbid them."""

    processes: int
    memory: int = MEMORY >> 20
    seconds: float = 20.0
    walls: Walls = Walls.NARROW


WALLS = "EXPLORER_WALLS"
#: Variable -> field, smallest and largest value.
VARIABLES = {
    "EXPLORER_PROCESSES": ("processes", 1, 64),
    "EXPLORER_MEMORY_MB": ("memory", 128, 65536),
    "EXPLORER_SECONDS": ("seconds", 1, 60),
}


def read(environment: Mapping[str, str]) -> Options:
    """The options set in `environment`, with defaults for the others. Raises OptionError."""
    values: dict[str, Any] = {"processes": processors(), "walls": _read_walls(environment)}
    for variable, (field, low, high) in VARIABLES.items():
        text = environment.get(variable, "").strip()
        if text:
            to_number = float if field == "seconds" else int
            try:
                value = to_number(text)
            except ValueError:
                value = math.nan
            if not low <= value <= high:
                kind = "a number" if to_number is float else "a whole number"
                raise OptionError(
                    f"{variable} is {text!r}; it must be {kind} from {low} to {high}."
                )
            values[field] = value
    return Options(**values)


def _read_walls(environment: Mapping[str, str]) -> Walls:
    text = environment.get(WALLS, "").strip()
    try:
        return Walls(text or Walls.NARROW)
    except ValueError:
        names = ", ".join(walls.value for walls in Walls)
        raise OptionError(f"{WALLS} is {text!r}; it must be one of {names}.") from None


@cache
def options() -> Options:
    """The options of this process. Raises OptionError."""
    return read(os.environ)


def processors() -> int:
    """The number of processors this process may use; a container or scheduler may restrict it."""
    count = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text().split()
        return max(1, min(count, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # there is no such file, or no limit ("max")
        return count
