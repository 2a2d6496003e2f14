"""Hostile programs against a language with a fault in it, each in a restricted child of its own."""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.faults.changed import install
from tests.hostile.corpus import GOOD as GOOD_PROGRAM
from tests.hostile.corpus import GROUPS, MUST_FAIL, MUST_LIVE, MUST_RUN

#: Time limit of one program, in seconds.
TIME_LIMIT = 5.0
#: Seconds after which it should stop by itself.
SOFT_LIMIT = 1.5
#: The values for the placeholders of a program, as in tests/hostile.
PLACEHOLDERS = {"file": "/nowhere/canary", "name": "EXPLORER_TEST_SECRET", "port": 1}

#: The group of a program and its number in the group.
Address = tuple[str, int]
#: The program that must run whatever the hostile ones did.
GOOD = ("good", 0)


@functools.cache
def programs() -> dict[Address, str]:
    hostile = {
        (group, number): text.format(**PLACEHOLDERS)
        for group, texts in GROUPS.items()
        for number, text in enumerate(texts)
    }
    return {GOOD: GOOD_PROGRAM, **hostile}


def warm() -> None:
    """Import the libraries that the project and the programs need, so that every fork has them."""
    import hypothesis.strategies  # noqa: F401
    import pytest  # noqa: F401
    import torch
    import torch._decomp
    import torch._dynamo
    import torchviz  # noqa: F401

    from tests.language import forms, programs  # noqa: F401

    torch.set_num_threads(1)
    x = torch.ones(2, requires_grad=True)
    torch.optim.SGD([x], lr=0.1).step()
    (x * x).sum().backward()
    str(x)


def _child(do: Callable[[int], None]) -> tuple[int, int]:
    """A forked child that does this with the writing end of a pipe; its number, the other end."""
    near, far = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.close(near)
            do(far)
        os._exit(0)
    os.close(far)
    return pid, near


def _run(addresses: Sequence[Address], nowhere: str) -> Callable[[int], None]:
    """In a child: apply the limits, run the programs, and write a line for each."""

    def run(pipe: int) -> None:
        from explorer import trace
        from explorer.sandbox import limits
        from tests.hostile.test_fuzz import check

        os.chdir(nowhere)
        limits.isolate_fork(pipe)
        limits.apply_limits()
        texts = programs()
        for address in addresses:
            source = texts[address]
            try:
                check(source)
                error = trace.run(source, deadline=time.monotonic() + SOFT_LIMIT).error
                ended = "ran" if error is None else f"refused: {error.message}"
            except AssertionError as error:
                ended = f"unguarded: {error}"
            os.write(pipe, (repr(ended[:200]) + "\n").encode())

    return run


def endings(addresses: Sequence[Address]) -> Iterator[tuple[Address, str]]:
    """How each program ends: "ran", "refused: …", "died …", "late", or "unguarded: …" where what
    is compiled reaches something without the guard. A child does one after the other; when it
    dies or hangs, another goes on."""
    todo = list(addresses)
    with tempfile.TemporaryDirectory() as nowhere:
        while todo:
            pid, near = _child(_run(todo, nowhere))
            late = False
            with os.fdopen(near, "rb", buffering=0) as pipe:
                try:
                    while todo:
                        late = not select.select([pipe], [], [], TIME_LIMIT)[0]
                        line = b"" if late else pipe.readline()
                        if not line:
                            break
                        yield todo.pop(0), ast.literal_eval(line.decode())
                finally:
                    os.kill(pid, signal.SIGKILL)
                    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if todo:
                yield todo.pop(0), "late" if late else f"died {-status}"


def broken(address: Address, ended: str) -> bool:
    """Whether tests/hostile would fail on a program that ends so."""
    group = address[0]
    if address == GOOD:
        return ended != "ran"
    return (
        ended.startswith("unguarded")
        or (ended == "ran" and group in MUST_FAIL)
        or (ended != "ran" and group in MUST_RUN)
        or (ended.startswith("died") and group in MUST_LIVE)
    )


def outcomes(
    fault: tuple[str, str] | None,
    addresses: Sequence[Address],
    first: bool = False,
    admit_all: bool = False,
) -> dict[Any, str]:
    """How these programs end with the fault, a changed module and its text, in the language.

    With `first`, up to the first one that tests/hostile would notice. With `admit_all`, every value
    may reach a program. A fork has the fault.
    """
    assert "explorer" not in sys.modules, "a fork must import the product anew"

    def run(pipe: int) -> None:
        with os.fdopen(pipe, "w") as out:
            if fault is not None:
                install(*fault)
            try:
                import explorer.sandbox  # noqa: F401
                from tests.hostile import test_fuzz  # noqa: F401
            except Exception as error:
                out.write(repr({"import": f"{type(error).__name__}: {error}"}))
                return
            if admit_all:
                from explorer.language.guard.values import Values

                Values._decide = lambda values, value: value  # type: ignore[method-assign]
            results = {}
            for address, ended in endings(addresses):
                results[address] = ended
                if first and broken(address, ended):
                    break
            out.write(repr(results))

    pid, near = _child(run)
    with os.fdopen(near) as pipe:
        output = pipe.read()
    os.waitpid(pid, 0)
    return ast.literal_eval(output or "{'import': 'it ended without output'}")  # type: ignore[no-any-return]
