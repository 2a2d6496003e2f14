"""A child's life: one task, then the end. The same for a fork of the zygote and for a worker."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from mmap import mmap

from explorer.language import limit_bytes
from explorer.sandbox import limits
from explorer.sandbox.kernel_restrictions import Walls
from explorer.sandbox.task import Job, perform_task, receive_task


def perform_one_task(
    connection: socket.socket, jobs: Mapping[str, Job], line: mmap, memory: int, walls: Walls
) -> None:
    """Wait for one task and perform it under its limits. Raises OSError if they do not work."""
    task = receive_task(connection)
    if task is not None:
        limit_bytes(memory)
        limits.set_time_limit(task.timeout)
        limits.apply_limits(memory, walls)
        perform_task(connection, jobs, task, line)
