"""One job done inside a child: request in, progress and one answer or error out."""

from __future__ import annotations

import random
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from mmap import mmap
from typing import Any

import torch

from explorer.language import ProgramError, ProgramRefused
from explorer.sandbox import exit_reasons, wire
from explorer.sandbox.context import Context, Job
from explorer.trace import to_plain

#: The share of the time limit after which a job should stop by itself.
SOFT = 0.85

_ALLOCATOR = "DefaultCPUAllocator"  # torch's words when the system gives it no memory

_line = struct.Struct("=I")


@dataclass(frozen=True)
class Task:
    """What a child is asked to do; `body` is the request as it came."""

    name: str
    body: bytes
    timeout: float


def asked(channel: socket.socket) -> Task | None:
    """The next errand, waited for; None where the server has closed the connection."""
    question, request = wire.receive(channel), wire.receive(channel)
    if question is None or request is None:
        return None
    hello = wire.load(question[1])
    return Task(hello["job"], request[1], hello["timeout"])


def perform(channel: socket.socket, jobs: Mapping[str, Job], task: Task, line: mmap) -> None:
    """Do the job and send what came of it; never raises for what the job did."""
    _line.pack_into(line, 0, 0)
    torch.manual_seed(0)  # the state at a fork is the parent's, the same for every reader
    random.seed(0)
    context = Context(
        progress=lambda message: _send(channel, wire.PROGRESS, message),
        on_line=lambda number: _line.pack_into(line, 0, number),
        deadline=time.monotonic() + SOFT * task.timeout,
    )
    try:
        _send(channel, wire.ANSWER, jobs[task.name](wire.load(task.body), context))
    except ProgramRefused as refused:
        _send(channel, wire.ERROR, to_plain(refused.error))
    except Exception as error:
        _send(channel, wire.ERROR, to_plain(_sentence(error, read_line(line))))


def read_line(line: mmap) -> int | None:
    """The line last noted, or None before the first."""
    return _line.unpack_from(line)[0] or None


def _send(channel: socket.socket, kind: int, message: Any) -> None:
    channel.sendall(wire.pack(kind, wire.dump(message)))


def _sentence(error: Exception, line: int | None) -> ProgramError:
    if isinstance(error, wire.TooLarge):
        return exit_reasons.answer_too_large(str(error))
    if isinstance(error, MemoryError) or _ALLOCATOR in str(error):
        return exit_reasons.out_of_memory(str(error)[:2000], line)
    return exit_reasons.failed(error, line)
