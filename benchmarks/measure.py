"""One measurement (a `Row`), and how it is taken: medians of functions that take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np
import torch

#: What tells the time, in seconds.
Clock = Callable[[], float]


class Missing(Exception):
    """A tool that the measurement needs is missing; the message says which."""


@dataclass(frozen=True)
class Budget:
    """The most that ours may take: a multiple of the baseline, or an amount in the row's unit."""

    limit: float
    kind: Literal["ratio", "absolute"]


@dataclass(frozen=True)
class Row:
    """One measurement, and the same for its `baseline`: in seconds, in MB (10**6 bytes), a
    number of messages, or a score without a unit.

    `ours` is None where nothing was measured; `note` then says why.
    """

    what: str
    ours: float | None
    baseline: str = ""
    theirs: float | None = None
    budget: Budget | None = None
    note: str = ""
    unit: Literal["s", "MB", "messages", ""] = "s"

    @property
    def ratio(self) -> float | None:
        """Ours as a multiple of the baseline."""
        return None if self.ours is None or self.theirs is None else self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        """Whether the budget is kept; None without one, or if nothing was measured."""
        if self.budget is None:
            return None
        value = self.ratio if self.budget.kind == "ratio" else self.ours
        return None if value is None else value <= self.budget.limit


def compare(
    what: str,
    ours: Callable[[], Any],
    baseline: str,
    theirs: Callable[[], Any],
    budget: Budget | None = None,
    *,
    runs: int,
    note: str = "",
    clock: Clock = time.perf_counter,
) -> Row:
    """Median seconds of a function and of another that does the same."""
    own, other = medians(ours, theirs, runs=runs, clock=clock)
    return Row(what, own, baseline, other, budget, note)


def medians(
    *functions: Callable[[], Any], runs: int, clock: Clock = time.perf_counter
) -> list[float]:
    """Median seconds of each function. They take turns, after one warm-up call each. By
    `time.process_time`, what else runs on the machine counts for little."""
    for function in functions:
        function()
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(runs):
        for taken, function in zip(times, functions, strict=True):
            taken.append(seconds(function, clock))
    return [median(taken) for taken in times]


def nearly_all(values: Sequence[float]) -> float:
    """What 95 % of the values are below."""
    return float(np.quantile(values, 0.95))


def seconds(function: Callable[[], Any], clock: Clock = time.perf_counter) -> float:
    """Seconds that one call takes."""
    start = clock()
    function()
    return clock() - start


def process_memory(name: str) -> float:
    """In MB, what Linux says of this process: "VmRSS" now, "VmHWM" at its peak."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) * 1024 / 1e6


@contextmanager
def threads(number: int) -> Iterator[None]:
    """torch uses `number` threads within the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
