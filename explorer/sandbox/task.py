"""One task: what is sent to a child, and how the child ended.

A task is one execution of a job from `jobs.JOBS`. The server imports this file, so it must not
import torch.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from mmap import mmap
from typing import Any, Literal

from explorer.sandbox import protocol

#: Seconds for which a live child takes requests.
LIFE = 60.0
#: The fraction of the time limit after which a job should stop by itself.
SOFT_LIMIT = 0.85

_line_format = struct.Struct("=I")


@dataclass(frozen=True)
class Context:
    """What a job may use of the child it runs in.

    `progress` sends a plain message ahead of the answer. `on_line` stores the line the program has
    reached, which is read if the child dies. `deadline` is when the job should stop by itself, in
    seconds of `time.monotonic`, shortly before it is stopped. `is_stopped` says whether the reader
    has stopped the job, which should then answer with what it has done. `data` is the caller's
    file; `send` sends raw bytes ahead of the answer. `part` sends what there is of the answer,
    which stands for it if the child has to be ended. `finish` sends the answer, from any thread,
    and ends the process.
    """

    progress: Callable[[Any], None]
    on_line: Callable[[int], None]
    deadline: float
    is_stopped: Callable[[], bool] = lambda: False
    data: bytearray = field(default_factory=bytearray)
    send: Callable[[Any], None] = lambda data: None
    part: Callable[[Any], None] = lambda answer: None
    finish: Callable[[Any], None] = lambda answer: None


#: A job takes a plain request and a Context, and returns a plain answer.
Job = Callable[[Any, Context], Any]


@dataclass(frozen=True)
class Task:
    """A job's name, the request as JSON, and the time limit in seconds. The child of a `live` task
    stays for further requests. `data_size` is the length of the caller's file, `data` the file
    once a child has received it."""

    name: str
    body: bytes | bytearray
    timeout: float
    live: bool = False
    data_size: int = 0
    data: bytearray = field(default_factory=bytearray)


#: Why the server has no answer. The app makes a sentence of it (`exit_reasons.BY_REASON`).
Reason = Literal[
    "queue_full",
    "stopped_in_queue",
    "server_not_started",
    "unreadable_answer",
    "out_of_time",
    "stopped_inside",
    "killed_for_memory",
    "disk_full",
    "too_much_memory",
    "exit",
]


@dataclass(frozen=True)
class ChildExit:
    """How a child ended: its status as `Popen.wait` returns it, and the line it last stored."""

    status: int
    line: int | None


def receive_task(connection: socket.socket) -> Task | None:
    """Wait for the next task; None when the server has closed the connection."""
    header, request = protocol.receive_frame(connection), protocol.receive_frame(connection)
    if header is None or request is None:
        return None
    fields = protocol.load(header[1])
    size = fields["data"]
    data = protocol.receive_data(connection, size)
    return Task(fields["job"], request[1], fields["timeout"], fields["live"], size, data)


def receive_next(connection: socket.socket) -> bytes | None:
    """Wait for the next request of a live run; None when the server has closed the connection."""
    frames = protocol.FrameBuffer()
    while data := _read(connection):
        frames.feed(data)
        for kind, body in frames.frames():
            return body if kind == protocol.NEXT else None
    return None


def _read(connection: socket.socket) -> bytes:
    """What has arrived. On Windows a socket is no file, and cannot be read as one."""
    size = 2**16
    return os.read(connection.fileno(), size) if os.name == "posix" else connection.recv(size)


def read_line(line: mmap) -> int | None:
    """The line number last stored, or None before the first and for what is none."""
    number: int = _line_format.unpack_from(line)[0]
    return number if 0 < number < 2**31 else None
