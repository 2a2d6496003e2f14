"""A child's life: one task, or the tasks of a live run, then the end. The same for a fork of the
zygote and for a worker."""

from __future__ import annotations

import _thread
import builtins
import gc
import math
import os
import random
import selectors
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from mmap import mmap
from typing import Any

import numpy as np
import torch

from explorer import limits
from explorer.program import ProgramError, ProgramRefused
from explorer.program.execution import end_with_programs
from explorer.sandbox import exit_reasons, walls, wire
from explorer.sandbox.messages import Task, limits_of, read_line
from explorer.sandbox.progress import Context, Job
from explorer.sandbox.scratch import enter
from explorer.trace import codec, to_plain

#: Held while a message is sent: a program that does not end has its answer from another thread.
_SENDING = threading.Lock()

#: Seconds by which a live child's own limit is longer than the server's: its last task's, and more.
_LATE = 5.0

_ALLOCATOR = "DefaultCPUAllocator"  # in torch's message when the system refuses it memory

#: What a child may call (`system_calls.GROUPS`) includes `poll`, where there is one.
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)


def perform_tasks(
    connection: socket.socket,
    jobs: Mapping[str, Job],
    line: mmap,
    memory: int,
    kind: walls.Walls,
    scratch: str,
) -> None:
    """Wait for a task and perform it under its limits; a live one is followed by others, as long as
    each leaves the process as it was. Raises OSError if the limits do not work."""
    task = _receive_task(connection)
    if task is None:
        return
    end_with_programs()
    folder = enter(scratch)
    walls.set_time_limit(limits.LIVE_SECONDS + _LATE if task.live else task.timeout)
    tempfile.tempdir = folder
    walls.apply_limits(memory, kind, folder)
    threads, before = _thread._count(), _process_state(folder) if task.live else None
    if task.live:
        # Between two tasks only what the programs left is to be collected: a fork of a zygote that
        # has not frozen its heap yet would look through all of torch, for 0.15 s each time.
        gc.freeze()
    perform_task(connection, jobs, task, line)
    while task.live:
        gc.collect()  # what is left of the program may still run code, when it is freed
        is_same = _have_ended(threads) and _process_state(folder) == before
        frame = wire.receive_frame(connection) if is_same else None
        if frame is None or frame[0] != wire.NEXT:
            return
        task = replace(task, body=frame[1])
        perform_task(connection, jobs, task, line)


def _receive_task(connection: socket.socket) -> Task | None:
    """Wait for the task; None when the server has closed the connection."""
    header, request = wire.receive_frame(connection), wire.receive_frame(connection)
    if header is None or request is None:
        return None
    fields = wire.load(header[1])
    size = fields["data"]
    data = wire.receive_data(connection, size)
    return Task(fields["job"], request[1], fields["timeout"], fields["live"], size, data)


def _have_ended(threads: int) -> bool:
    """Whether there are only so many threads, soon: that of a watchdog ends just now."""
    until = time.monotonic() + 0.05
    while _thread._count() > threads and time.monotonic() < until:
        time.sleep(0)
    return _thread._count() <= threads


def _process_state(folder: str | None) -> tuple[Any, ...]:
    """What belongs to the whole process and decides what a program does: the next one must find it
    as the last one did."""
    numpy_state: Any = np.random.get_state()
    return (
        os.listdir(folder) if folder else [],
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.is_anomaly_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.are_deterministic_algorithms_enabled(),
        torch._C._len_torch_function_stack(),
        torch._C._len_torch_dispatch_stack(),
        torch._C._functorch.maybe_current_level(),
        torch._C._autograd._top_saved_tensors_default_hooks(True),
        dict(vars(torch._tensor_str.PRINT_OPTS)),
        sys.gettrace(),
        list(warnings.filters),
        (numpy_state[1].tobytes(), *numpy_state[2:]),
        [hash(tuple(map(id, names.values()))) for names in _namespaces()],
    )


def _namespaces() -> Iterator[Mapping[str, Any]]:
    """The names that a program may have replaced: what it calls, and what makes its answer."""
    yield from map(vars, (builtins, math, random, torch, torch.nn, torch.nn.functional))
    yield from map(vars, (torch.Tensor, torch.nn.Module, torch.optim.Optimizer, torch.autograd))
    yield from map(vars, (wire, codec))
    if "matplotlib" in sys.modules:
        yield dict(dict.items(sys.modules["matplotlib"].rcParams))  # as it is, without its look-ups


def perform_task(
    connection: socket.socket, jobs: Mapping[str, Job], task: Task, line: mmap
) -> None:
    """Perform the task and send its answer or error; never raises for what the job did.

    `line` is shared memory in which the line number is stored.
    """
    lines = memoryview(line).cast("I")
    lines[0] = 0
    torch.default_generator.manual_seed(0)  # a fork has its parent's: the same for every reader
    random.seed(0)
    context = Context(
        progress=lambda message: _send(connection, wire.PROGRESS, message),
        on_line=partial(lines.__setitem__, 0),
        deadline=time.monotonic() + limits.SOFT_SHARE * task.timeout,
        is_stopped=_StopNotice(connection),
        data=task.data,
        send=partial(_send_data, connection),
        part=partial(_send, connection, wire.PART, limit=limits.PART_BYTES),
        finish=partial(_finish, connection, limits_of(task.job).bytes),
    )
    try:
        answer = jobs[task.job](wire.load(task.body), context)
        _send(connection, wire.ANSWER, answer, limits_of(task.job).bytes)
    except ProgramRefused as refused:
        _send(connection, wire.ERROR, to_plain(refused.error))
    except Exception as error:
        _send(connection, wire.ERROR, to_plain(_to_program_error(error, read_line(line))))


class _StopNotice:
    """Whether the server has asked this child to stop: it sends nothing else after the request. The
    first time, the child sends the same back."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._is_stopped = connection, False
        self._selector = _Selector()
        self._selector.register(connection, selectors.EVENT_READ)

    def __call__(self) -> bool:
        if not self._is_stopped and self._selector.select(0):
            self._is_stopped = True
            with _SENDING:
                self._connection.sendall(wire.make_frame(wire.STOP))
        return self._is_stopped


def _send(connection: socket.socket, kind: int, message: Any, limit: int = limits.MESSAGE) -> None:
    frame = wire.make_frame(kind, wire.dump(message), limit)
    with _SENDING:
        connection.sendall(frame)


def _finish(connection: socket.socket, limit: int, answer: Any) -> None:
    try:
        _send(connection, wire.ANSWER, answer, limit)
    finally:
        os._exit(0)


def _send_data(connection: socket.socket, data: Any) -> None:
    for frame in wire.data_frames(data):
        with _SENDING:
            connection.sendall(frame)


def _to_program_error(error: Exception, line: int | None) -> ProgramError:
    if isinstance(error, wire.MessageTooLarge):
        return exit_reasons.explain("answer_too_large", detail=str(error))
    if isinstance(error, MemoryError) or _ALLOCATOR in str(error):
        return exit_reasons.explain("out_of_memory", line, detail=str(error)[:2000])
    detail = f"{type(error).__name__}: {error}"[:2000]
    return exit_reasons.explain("job_failed", line, detail=detail)
