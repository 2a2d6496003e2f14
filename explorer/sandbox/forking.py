"""What the zygote does (zygote.py): it imports all that a program may need, and forks children."""

from __future__ import annotations

import importlib
import mmap
import os
import select
import socket
import traceback
from collections import deque
from collections.abc import Mapping
from contextlib import suppress

from explorer.sandbox import kernel_restrictions, limits, protocol
from explorer.sandbox.child import perform_tasks
from explorer.sandbox.huge_pages import collapse_memory
from explorer.sandbox.kernel_restrictions import Walls
from explorer.sandbox.task import Job, read_line
from explorer.sandbox.warm_up import STEPS, prepare_programs, prepare_torch

#: Seconds in which the server asks for its first children; the rest of the warm-up follows.
_FIRST_PAUSE = 0.5
#: What a child may use: memory in bytes beyond what it starts with, the kernel's walls, and where
#: it has a folder.
Limit = tuple[int, Walls, str]


def serve(connection: socket.socket) -> None:
    """In the new process: answer the server's requests until it closes the connection."""
    try:
        kernel_restrictions.die_with_parent()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the token will arrive on standard input
        packet = connection.recv(4096)
        if not packet:
            return  # the server ended before it had read its settings
        settings = protocol.load(packet)
        jobs = importlib.import_module(settings["jobs"]).JOBS
        limit = settings["memory"], Walls(settings["walls"]), settings["scratch"]
        prepare_torch()
        steps = deque([*STEPS, collapse_memory] if settings["fully"] else [])
        if steps:
            prepare_programs()
        connection.send(protocol.dump({}))
        lines: dict[int, mmap.mmap] = {}
        pause = _FIRST_PAUSE
        while True:
            while steps and not select.select([connection], [], [], pause)[0]:
                steps.popleft()()
                pause = 0.0
            packet = connection.recv(4096)
            if not packet:
                break
            request = protocol.load(packet)
            if "end" in request:
                _end_child(connection, lines, request["end"])
            else:
                _fork_child(connection, lines, jobs, limit)
    except ConnectionError:
        pass  # the server was killed
    except BaseException:
        traceback.print_exc()  # for the app's log
    finally:
        os._exit(0)


def _fork_child(
    connection: socket.socket,
    lines: dict[int, mmap.mmap],
    jobs: Mapping[str, Job],
    limit: Limit,
) -> None:
    """Fork a child and send the server its process id and one end of its connection."""
    ends: tuple[socket.socket, ...] = ()
    try:
        ends = socket.socketpair()
        line = mmap.mmap(-1, mmap.PAGESIZE)
        pid = os.fork()
    except OSError as error:
        connection.send(protocol.dump({"error": error.errno}))
    else:
        if pid == 0:
            for other in lines.values():
                other.close()
            _run_child(ends[1], line, jobs, limit)
        lines[pid] = line
        socket.send_fds(connection, [protocol.dump({"pid": pid})], [ends[0].fileno()])
    finally:
        for end in ends:
            end.close()


def _run_child(
    connection: socket.socket, line: mmap.mmap, jobs: Mapping[str, Job], limit: Limit
) -> None:
    """In the child: wait for one task, perform it under its limits, and exit."""
    status = 1
    try:
        limits.isolate_fork(connection.fileno())
        perform_tasks(connection, jobs, line, *limit)
        status = 0
    finally:
        os._exit(status)


def _end_child(connection: socket.socket, lines: dict[int, mmap.mmap], pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, 9)  # has no effect on a process that has already ended
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with lines.pop(pid) as line:
        connection.send(protocol.dump({"status": status, "line": read_line(line)}))
