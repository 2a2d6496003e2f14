"""Round trips through the sandbox, beside the same program run in this process.

    python -m benchmarks.sandbox

Target: a median round trip of at most 40 ms for a five-line program, once warm. Bare forking is
the floor: what it costs to fork and end a child of a process with torch imported.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from explorer import sandbox, trace
from explorer.sandbox import warm

SOURCE = """\
import torch
x = torch.tensor([[1., 2.]], requires_grad=True)
y = x + 2
z = 3 * y**2
out = z.mean()
out.backward()
"""


def median(do: Callable[[], object], times: int = 50) -> float:
    """The median duration of `do`, in milliseconds, after one call that is not counted."""
    do()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        do()
        taken.append(1000 * (time.perf_counter() - start))
    return statistics.median(taken)


def fork_and_end() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def in_sandbox() -> None:
    found = sandbox.run(SOURCE)
    assert found.error is None, found.error


def eight_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(in_sandbox) for _ in range(8)]:
            future.result()


def main() -> None:
    start = time.perf_counter()
    in_sandbox()
    rows = [("first answer, server started for it", 1000 * (time.perf_counter() - start))]
    warm.up()
    if sys.platform == "linux":
        rows.append(("bare fork of a warm process", median(fork_and_end)))
    here = median(lambda: trace.run(SOURCE))
    rows.append(("the program in this process", here))
    rows.append(("round trip through the sandbox", median(in_sandbox)))
    rows.append(("eight readers at once, the last", median(eight_at_once, 10)))
    print(f"{'':40}{'median ms':>10}{'ratio':>8}")
    for name, taken in rows:
        print(f"{name:40}{taken:>10.1f}{taken / here:>8.1f}")


if __name__ == "__main__":
    main()
