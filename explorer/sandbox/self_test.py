"""Whether programs work inside the walls on this machine: a job that does, in turn, what each
group of allowed system calls is for, and then runs the examples.

The lists were made with a few kernels and C libraries. Where another one needs a further call,
programs fail for no reason that a reader could see; this tells the operator which.
"""

from __future__ import annotations

import importlib
import linecache
import os
import selectors
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from explorer import limits, trace
from explorer.program import ProgramRefused
from explorer.sandbox.exit_reasons import is_out_of_time, is_temporary
from explorer.sandbox.progress import Context
from explorer.trace.examples import EXAMPLES


@dataclass(frozen=True)
class SelfTestFailure:
    """What does not work inside the walls, and the error."""

    part: str
    error: str


def self_test(request: Any, context: Context) -> Any:
    """Try every part; before each, progress is its name. Raises what the first to fail raises."""
    for name, trial in _TRIALS.items():
        context.progress(name)
        trial()
    return "complete"


def find_failure(call: Callable[..., Any]) -> SelfTestFailure | None:
    """The first part that fails in a child, twice; `call` is that of a Sandbox. Not to get to the
    end is no failure: at the lowest priority, a crowd of readers leaves it little time."""
    for _ in range(2):
        reached = ["start"]
        try:
            options = {"timeout": limits.SELF_TEST_SECONDS, "reader": "self-test"}
            call("self_test", None, on_progress=reached.append, **options)
            return None
        except ProgramRefused as refused:
            error = refused.error
            if is_temporary(error) or is_out_of_time(error):
                return None
    return SelfTestFailure(reached[-1], f"{error.message} {error.detail}".strip())


def _memory() -> None:
    torch.ones(2**22).sum()
    image = torch.rand(1, 3, 32, 32)
    torch.nn.functional.conv2d(image, image[..., :3, :3])


def _files() -> None:
    importlib.import_module("wave")
    assert linecache.getline(os.__file__, 1)


def _answer() -> None:
    selectors.PollSelector().select(0)


def _threads() -> None:
    torch.set_num_threads(2)
    torch.rand(300, 300) @ torch.rand(300, 300)
    torch.rand(2**18).sin().sum()
    torch.set_num_threads(1)
    thread = threading.Thread(target=time.sleep, args=(0.001,))
    thread.start()
    thread.join()
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.profiler.profile():
        (x * x).sum().backward()


def _clocks() -> None:
    time.sleep(0.001)
    time.process_time()


def _signals() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _questions() -> None:
    os.urandom(8)
    os.getpid()


def _examples() -> None:
    for example in EXAMPLES:
        error = trace.run(example.source).error
        if (error is not None) != example.fails:
            raise RuntimeError(f"the example {example.key}: {error and error.message}")


#: What is tried, in the order of `system_calls.GROUPS`; the progress messages use "answer".
_TRIALS: dict[str, Callable[[], Any]] = {
    "memory": _memory,
    "files": _files,
    "answer": _answer,
    "threads": _threads,
    "clocks": _clocks,
    "signals": _signals,
    "questions": _questions,
    "examples": _examples,
}
