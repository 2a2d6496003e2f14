"""Jobs for the tests: the ways a child can behave, good and bad."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import struct
import sys
import time
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn

from explorer.program import ProgramError, ProgramRefused
from explorer.sandbox.progress import Context, Job
from tests.sandbox.attacks import call_numbers


def double(request: Any, context: Context) -> Any:
    return (torch.tensor(request) * 2).tolist()


def segfault(request: Any, context: Context) -> Any:
    context.on_line(7)
    torch.linalg.eigvals(torch.full((3, 3), float("nan")))
    os.kill(os.getpid(), signal.SIGSEGV)  # in case torch no longer crashes here


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
    tensors = []
    while True:
        tensors.append(torch.ones(2**24))


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


def echo(request: Any, context: Context) -> Any:
    """Send the file back, `request` times."""
    for _ in range(request):
        context.send(context.data)
    return len(context.data)


def ignore(request: Any, context: Context) -> Any:
    """End without a look at the file."""
    raise ProgramRefused(ProgramError("No file wanted."))


def random(request: Any, context: Context) -> Any:
    return torch.rand(3).tolist()


def environment(request: Any, context: Context) -> Any:
    return sorted(os.environ)


def hold(request: Any, context: Context) -> Any:
    """Send the process id, then never end."""
    context.progress(os.getpid())
    while True:
        pass


def garbage(request: Any, context: Context) -> Any:
    """Write invalid bytes in the place of the answer."""
    for number in range(3, 16):
        with contextlib.suppress(OSError):
            os.write(number, b"\xff" * 64)
    time.sleep(60)


def zoo(request: Any, context: Context) -> Any:
    """Many parts of torch, all of which must work under the restrictions."""
    x = torch.randn(4, 8, requires_grad=True)
    F.conv1d(x[None], torch.randn(2, 4, 3)).sum().backward()
    nn.LSTM(8, 4)(x[None])[0].sum().backward()
    nn.MultiheadAttention(8, 2)(x, x, x)[0].sum().backward()
    nn.TransformerEncoderLayer(8, 2, batch_first=True)(x[None]).sum().backward()
    for name in ("Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS"):
        optimizer = getattr(torch.optim, name)([x])
        optimizer.step(lambda: (x**2).sum())
    torch.linalg.svd(x.detach()), torch.linalg.eigh(x.detach() @ x.detach().T)
    torch.fft.fft(x), torch.einsum("ij,kj->ik", x, x), torch.func.vmap(torch.sin)(x)
    torch.autograd.functional.hessian(lambda v: (v**3).sum(), torch.ones(3))
    torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True))
    torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
    return [str(x)[:6], str(np.histogram(x.detach().numpy())[0].sum())]


def threads_and_profiler(request: Any, context: Context) -> Any:
    """What needs threads, or asks for a folder."""
    torch.set_num_threads(2)
    x = torch.randn(300, 300, requires_grad=True)
    (x @ x).sin().sum().backward()
    with torch.autograd.profiler.profile() as profile:
        (x @ x).sum().backward()
    with torch.profiler.profile():
        (x @ x).sum().backward()
    _, jvp = torch.func.linearize(torch.sin, torch.zeros(2))
    named = "aten::mm" in profile.key_averages().table()
    return [torch.get_num_threads(), named, jvp(torch.ones(2)).tolist()]


def open_descriptor(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def attempt(request: Any, context: Context) -> Any:
    """Try something forbidden: the error's name, or the result if it succeeded."""
    try:
        return repr(eval(request))  # the tests' own text
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    except Exception as error:
        return type(error).__name__


def raw(request: Any, context: Context) -> Any:
    """Run plain Python, which nothing watches: how it ended.

    `request` holds the text as "code"; everything else is a name that the text may use.
    """

    def call(name: str, *arguments: int | str | bytes) -> int:
        number = call_numbers()[name]
        values = (a.encode() if isinstance(a, str) else a for a in arguments)
        result = libc.syscall(number, *(c_long(v) if isinstance(v, int) else v for v in values))
        if result == -1:
            raise OSError(ctypes.get_errno(), name)
        return int(result)

    libc, c_long = ctypes.CDLL(None, use_errno=True), ctypes.c_long
    modules = {module.__name__: module for module in (ctypes, os, signal, struct, sys, time)}
    channel = next(n for n in range(3, 16) if open_descriptor(n))
    names = {"call": call, "libc": libc, "channel": channel, **modules, **request}
    try:
        exec(names.pop("code"), names)  # the tests' own text
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return names.get("result", "nothing refused it")


def stoppable(request: Any, context: Context) -> Any:
    """The same; `stopped()` says whether the reader has stopped the job."""
    return raw({**request, "stopped": context.is_stopped}, context)


JOBS: dict[str, Job] = {
    job.__name__: job
    for job in (
        double, segfault, division, endless_operator, endless_loop, until_deadline, memory, large,
        silent, raises, refuses, progress, sleep, length, echo, ignore, random, environment,
        attempt, hold, garbage, zoo, threads_and_profiler, raw, stoppable,
    )
}  # fmt: skip
