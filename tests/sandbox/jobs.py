"""Jobs for the tests: the ways a child can behave, good and bad."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import torch
import torch.nn.functional as F

from explorer.language import ProgramError, ProgramRefused
from explorer.sandbox.context import Context, Job


def double(request: Any, context: Context) -> Any:
    return (torch.tensor(request) * 2).tolist()


def segfault(request: Any, context: Context) -> Any:
    context.on_line(7)
    torch.linalg.eigvals(torch.full((3, 3), float("nan")))
    os.kill(os.getpid(), signal.SIGSEGV)  # a torch that has been mended


def division(request: Any, context: Context) -> Any:
    torch.div(torch.tensor([-(2**63)]), torch.tensor([-1]), rounding_mode="trunc")
    os.kill(os.getpid(), signal.SIGFPE)


def endless_operator(request: Any, context: Context) -> Any:
    context.on_line(3)
    F.max_pool1d(torch.ones(1, 1, 4), 2**62)
    while True:
        time.sleep(1)


def endless_loop(request: Any, context: Context) -> Any:
    while True:
        pass


def until_deadline(request: Any, context: Context) -> Any:
    start = time.monotonic()
    while time.monotonic() < context.deadline:
        time.sleep(0.01)
    return time.monotonic() - start


def memory(request: Any, context: Context) -> Any:
    context.on_line(2)
    held = []
    while True:
        held.append(torch.ones(2**24))


def large(request: Any, context: Context) -> Any:
    return "a" * request


def silent(request: Any, context: Context) -> Any:
    os._exit(0)


def raises(request: Any, context: Context) -> Any:
    raise ValueError("of all things")


def refuses(request: Any, context: Context) -> Any:
    raise ProgramRefused(ProgramError("Not this.", line=4, hint="That."))


def progress(request: Any, context: Context) -> Any:
    for step in range(request["steps"]):
        context.progress({"step": step})
        time.sleep(request["pause"])
    return "done"


def sleep(request: Any, context: Context) -> Any:
    time.sleep(request)
    return os.getpid()


def length(request: Any, context: Context) -> Any:
    return len(request["image"])


def random(request: Any, context: Context) -> Any:
    return torch.rand(3).tolist()


def environment(request: Any, context: Context) -> Any:
    return sorted(os.environ)


def attempt(request: Any, context: Context) -> Any:
    """Try what the walls are there to refuse; the name of the exception, or what succeeded."""
    try:
        return repr(eval(request))  # this file's own text, from the tests
    except Exception as error:
        return type(error).__name__


JOBS: dict[str, Job] = {
    job.__name__: job
    for job in (
        double, segfault, division, endless_operator, endless_loop, until_deadline, memory, large,
        silent, raises, refuses, progress, sleep, length, random, environment, attempt,
    )
}  # fmt: skip
