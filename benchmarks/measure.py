"""Medians of interleaved runs: the ratio of two functions is measured in one go, turn by turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any


def medians(*functions: Callable[[], Any], runs: int = 20) -> list[float]:
    """Median seconds of each function, the functions taking turns; one warm-up each."""
    for function in functions:
        function()
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(runs):
        for taken, function in zip(times, functions, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return [median(taken) for taken in times]


def report(name: str, ours: float, other: float | None = None, budget: str = "") -> None:
    """One line: ours in milliseconds, the other's, their ratio, and the budget."""
    line = f"{name:<44} {ours * 1e3:9.2f} ms"
    if other is not None:
        line += f"  against {other * 1e3:9.2f} ms  ratio {ours / other:6.2f}"
    print(line + (f"   budget {budget}" if budget else ""))
