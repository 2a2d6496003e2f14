"""Programs in a child process: `explorer.sandbox.run`

Warm: the server has answered before. An endless program is a Python loop or a single torch
operation that takes longer than any limit, with a time limit of 5 s unless stated otherwise; each
comes from a different reader.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from statistics import median

from benchmarks.measure import Budget, Row, compare, seconds
from benchmarks.trace import EXAMPLE_A
from explorer import sandbox, trace
from explorer.sandbox.warm_up import warm_up

LOOP = "while True:\n    sum(range(100_000))\n"  # a bare loop reaches the limit on statements first
OPERATOR = """\
import torch
torch.linalg.svd(torch.rand(3000, 3000))
"""


def rows(most: int) -> Iterator[Row]:
    yield Row("first answer, including the start of the server", seconds(in_sandbox))
    warm_up()
    what, budget, runs = "round trip of example A", Budget(0.040, "absolute"), min(50, most)
    here = partial(trace.run, EXAMPLE_A)
    yield compare(what, in_sandbox, "the same in this process", here, budget, runs=runs)
    if sys.platform == "linux":
        fork = "a bare fork of this process"
        yield compare(f"{what}, again", in_sandbox, fork, fork_and_end, runs=runs)
    what = "eight readers at once, until the last has its answer"
    yield compare(what, eight_at_once, "one reader", in_sandbox, runs=min(10, most))
    for name, source in (("loop", LOOP), ("operation", OPERATOR)):
        taken = median(endless(source, 1.0) for _ in range(min(3, most)))
        yield Row(f"an endless {name} with a limit of 1 s", taken, budget=Budget(2, "absolute"))
    for after, when in ((0.1, "at the same moment"), (2.5, "while all eight run")):
        taken = median(ninth(after) for _ in range(min(3, most)))
        yield Row(
            f"a ninth reader's small program with eight endless ones, sent {when}",
            taken,
            budget=Budget(3, "absolute"),
        )


def in_sandbox(reader: str | None = None) -> None:
    trace = sandbox.run(EXAMPLE_A, reader=reader)
    assert trace.error is None, trace.error


def fork_and_end() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def eight_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(in_sandbox, f"reader {i}") for i in range(8)]:
            future.result()


def endless(source: str, limit: float) -> float:
    """Seconds until the error message that the program took too long."""
    start = time.perf_counter()
    result = sandbox.run(source, timeout=limit)
    taken = time.perf_counter() - start
    assert result.error is not None
    assert taken > 0.8 * limit, result.error  # it ran up to the child's own limit
    return taken


def ninth(after: float) -> float:
    """Seconds to the answer of a small program sent `after` seconds after eight endless ones."""
    with ThreadPoolExecutor(8) as pool:
        sources = zip(range(8), cycle((LOOP, OPERATOR)), strict=False)
        others = [
            pool.submit(sandbox.run, source, reader=f"endless {i}", timeout=5.0)
            for i, source in sources
        ]
        time.sleep(after)
        taken = seconds(lambda: in_sandbox("ninth"))
        assert all(other.result().error for other in others)
    return taken
