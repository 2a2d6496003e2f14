"""One task performed inside a child: request in, progress and one answer or error out.

A task is one execution of a job from `jobs.JOBS`.
"""

from __future__ import annotations

import os
import random
import selectors
import socket
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from mmap import mmap
from typing import Any

import torch

from explorer.language import ProgramError, ProgramRefused
from explorer.sandbox import exit_reasons, protocol
from explorer.sandbox.answer_limits import limits_of
from explorer.trace import to_plain

#: Seconds for which a live child takes requests.
LIFE = 60.0
#: The fraction of the time limit after which a job should stop by itself.
SOFT_LIMIT = 0.85

_ALLOCATOR = "DefaultCPUAllocator"  # in torch's message when the system refuses it memory

#: What a child may call (`system_calls.GROUPS`) includes `poll`, where there is one.
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)

_line_format = struct.Struct("=I")


@dataclass(frozen=True)
class Context:
    """What a job may use of the child it runs in.

    `progress` sends a plain message ahead of the answer. `on_line` stores the line the program has
    reached, which is read if the child dies. `deadline` is when the job should stop by itself, in
    seconds of `time.monotonic`, shortly before it is stopped. `is_stopped` says whether the reader
    has stopped the job, which should then answer with what it has done.
    """

    progress: Callable[[Any], None]
    on_line: Callable[[int], None]
    deadline: float
    is_stopped: Callable[[], bool] = lambda: False


#: A job takes a plain request and a Context, and returns a plain answer.
Job = Callable[[Any, Context], Any]


@dataclass(frozen=True)
class Task:
    """A job's name, the request as JSON, and the time limit in seconds. The child of a `live` task
    stays for further requests."""

    name: str
    body: bytes | bytearray
    timeout: float
    live: bool = False


def receive_task(connection: socket.socket) -> Task | None:
    """Wait for the next task; None when the server has closed the connection."""
    header, request = protocol.receive_frame(connection), protocol.receive_frame(connection)
    if header is None or request is None:
        return None
    fields = protocol.load(header[1])
    return Task(fields["job"], request[1], fields["timeout"], fields["live"])


def receive_next(connection: socket.socket) -> bytes | None:
    """Wait for the next request of a live run; None when the server has closed the connection."""
    frames = protocol.FrameBuffer()
    while data := _read(connection):
        frames.feed(data)
        for kind, body in frames.frames():
            return body if kind == protocol.NEXT else None
    return None


def _read(connection: socket.socket) -> bytes:
    """What has arrived. The walls do not allow `recv`; Windows, without walls, cannot read."""
    size = 2**16
    return os.read(connection.fileno(), size) if os.name == "posix" else connection.recv(size)


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
        progress=lambda message: _send(connection, protocol.PROGRESS, message),
        on_line=partial(lines.__setitem__, 0),
        deadline=time.monotonic() + SOFT_LIMIT * task.timeout,
        is_stopped=_StopNotice(connection),
    )
    try:
        answer = jobs[task.name](protocol.load(task.body), context)
        _send(connection, protocol.ANSWER, answer, limits_of(task.name).bytes)
    except ProgramRefused as refused:
        _send(connection, protocol.ERROR, to_plain(refused.error))
    except Exception as error:
        _send(connection, protocol.ERROR, to_plain(_to_program_error(error, read_line(line))))


class _StopNotice:
    """Whether the server has told this child to stop. It sends nothing else after the request, and
    is told once that this was noticed."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._is_told = connection, False
        self._selector = _Selector()
        self._selector.register(connection, selectors.EVENT_READ)

    def __call__(self) -> bool:
        if not self._is_told and self._selector.select(0):
            self._is_told = True
            self._connection.sendall(protocol.make_frame(protocol.STOP))
        return self._is_told


def read_line(line: mmap) -> int | None:
    """The line number last stored, or None before the first."""
    return _line_format.unpack_from(line)[0] or None


def _send(connection: socket.socket, kind: int, message: Any, limit: int = protocol.LIMIT) -> None:
    connection.sendall(protocol.make_frame(kind, protocol.dump(message), limit))


def _to_program_error(error: Exception, line: int | None) -> ProgramError:
    if isinstance(error, protocol.MessageTooLarge):
        return exit_reasons.answer_too_large(str(error))
    if isinstance(error, MemoryError) or _ALLOCATOR in str(error):
        return exit_reasons.out_of_memory(str(error)[:2000], line)
    return exit_reasons.job_failed(error, line)
