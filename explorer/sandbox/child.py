"""A child's life: one task, or the tasks of a live run, then the end. The same for a fork of the
zygote and for a worker."""

from __future__ import annotations

import gc
import socket
import threading
from collections.abc import Mapping
from dataclasses import replace
from mmap import mmap
from typing import Any

import torch

from explorer.language import limit_bytes
from explorer.sandbox import limits
from explorer.sandbox.kernel_restrictions import Walls
from explorer.sandbox.task import LIFE, Job, perform_task, receive_next, receive_task

#: Seconds by which a live child's own limit is longer than the server's: its last task's, and more.
_LATE = 5.0


def perform_tasks(
    connection: socket.socket, jobs: Mapping[str, Job], line: mmap, memory: int, walls: Walls
) -> None:
    """Wait for a task and perform it under its limits; a live one is followed by others, as long as
    each leaves the process as it was. Raises OSError if the limits do not work."""
    task = receive_task(connection)
    if task is None:
        return
    limit_bytes(memory)
    limits.set_time_limit(LIFE + _LATE if task.live else task.timeout)
    limits.apply_limits(memory, walls)
    before = _process_state()
    perform_task(connection, jobs, task, line)
    while task.live:
        gc.collect()  # what is left of the program may still run code, when it is freed
        body = receive_next(connection) if _process_state() == before else None
        if body is None:
            return
        task = replace(task, body=body)
        perform_task(connection, jobs, task, line)


def _process_state() -> tuple[Any, ...]:
    """What belongs to the whole process and decides what a program does: the next one must find it
    as the last one did."""
    return (
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
        threading.active_count(),
    )
