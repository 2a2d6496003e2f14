"""What is done in the background delays no one, and hostile programs keep to their limits."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

import explorer
from explorer import limits
from explorer.sandbox import Call, Sandbox, prove
from explorer.trace.proof.prove import IS_ANOTHER, NO_TIME
from tests.marks import thorough

VECTOR = "import torch\nx = torch.ones(2, requires_grad=True)\n(x * 2).backward()\n"


@contextmanager
def holding(sandbox: Sandbox, reader: str) -> Iterator[tuple[Call[Any], list[int]]]:
    """A task in the background that does not end by itself, and its process once it has begun."""
    pids: list[int] = []
    options: dict[str, Any] = {"timeout": 60, "reader": reader, "on_progress": pids.append}
    call = sandbox.submit("hold", None, background=True, **options)
    try:
        yield call, pids
    finally:
        call.cancel()


def begins(call: Call[Any], pids: list[int], seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while not pids and time.monotonic() < until:
        call.wait(0.05)
    return bool(pids)


def test_it_gives_way_from_its_beginning_and_takes_no_place(forking: Sandbox) -> None:
    with holding(forking, "a") as first, holding(forking, "b") as second:
        for call, pids in (first, second):  # as many as there are processors
            assert begins(call, pids)
            assert os.getpriority(os.PRIO_PROCESS, pids[0]) == 19
        with holding(forking, "c") as third:
            assert not begins(*third, seconds=0.5)
            for reader in ("a", "c"):
                request = {"steps": 1, "pause": 0}
                assert forking.call("progress", request, reader=reader, timeout=20) == "done"
            first[0].cancel()
            assert begins(*third)


def test_a_reader_has_one_at_a_time(forking: Sandbox) -> None:
    with holding(forking, "a") as first, holding(forking, "a") as second:
        assert begins(*first)
        assert not begins(*second, seconds=0.5)
        first[0].cancel()
        assert begins(*second)


@pytest.mark.parametrize(
    "program",
    [
        thorough("while True:\n    pass\n"),
        thorough("import torch\ntorch.ones(10**11)\n"),
        thorough("a = [0]\nwhile True:\n    a = a + a\n"),
        "raise SystemExit\n",
        thorough("def f():\n    return f()\nf()\n"),
    ],
    ids=["endless", "large tensor", "list", "exit", "recursion"],
)
def test_a_program_that_does_something_else_again(program: str) -> None:
    """A program may recognise that it is run again: the child's limits hold, and nothing is said
    to have been tried."""
    first = explorer.run(VECTOR)
    assert prove(first).answers  # the server has started
    trace = replace(first, source=program)
    start = time.monotonic()
    (answer,) = prove(trace).answers
    assert time.monotonic() - start < 2 * limits.PROVE_SECONDS + 10
    assert (answer.fix, answer.tried in (NO_TIME, IS_ANOTHER)) == (None, True)
