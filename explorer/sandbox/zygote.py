"""The process that children are forked from.

A child is a copy of the zygote, and a program can read its child's memory. So the zygote is forked
before the server has read any options, and is sent only the name of the jobs' module, the limits
of a child and whether to warm up. Requests and tokens never reach it: the server sends a request
only to the child that performs it. Only the zygote and its children import torch: the server stays
small, and shares no memory with them that they would have to copy.
"""

from __future__ import annotations

import importlib
import mmap
import os
import select
import socket
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from explorer import limits
from explorer.sandbox import walls, wire
from explorer.sandbox.kernel import collapse_memory
from explorer.sandbox.messages import ChildExit, read_line

#: Seconds in which the server asks for its first children; the rest of the warm-up follows.
_FIRST_PAUSE = 0.5


class ZygoteLost(Exception):
    """The zygote has ended or does not reply; the server cannot continue without it."""


class Zygote:
    """The server's side. The constructor forks the process; `warm_up` must be called next."""

    def __init__(self) -> None:
        self._connection, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._connection.close()
            _serve(child_end)
        child_end.close()

    def warm_up(
        self, jobs: str, memory: int, walls: walls.Walls, scratch: str, fully: bool
    ) -> None:
        """Wait until it has imported the jobs and, if `fully`, used everything they may need.

        From then on it has to reply soon: a fork, or ending a child, takes 10 to 20 milliseconds,
        and meanwhile no program goes on. One that does not is lost, and the server with it.
        """
        self._request(jobs=jobs, memory=memory, walls=walls, scratch=scratch, fully=fully)
        self._connection.settimeout(limits.REPLY_SECONDS)

    def fork(self) -> tuple[int, socket.socket]:
        """A new child's process id and the socket to it. Raises OSError if there can be none."""
        reply, descriptors = self._request()
        sockets = [socket.socket(fileno=number) for number in descriptors]
        if "error" in reply:
            raise OSError(reply["error"], os.strerror(reply["error"]))
        if not sockets:
            self.end(reply["pid"])
            raise OSError("there was no descriptor for the connection to a child")
        return reply["pid"], sockets[0]

    def end(self, pid: int) -> ChildExit:
        """Kill a child if it still runs. Returns how it ended and the line it had reached."""
        reply, _ = self._request(end=pid)
        return ChildExit(reply["status"], reply["line"])

    def close(self) -> None:
        """End the zygote, and with it its children."""
        self._connection.close()

    def _request(self, **request: Any) -> tuple[dict[str, Any], list[int]]:
        try:
            self._connection.send(wire.dump(request))
            reply, descriptors, _, _ = socket.recv_fds(self._connection, 4096, 1)
        except OSError as error:
            raise ZygoteLost("the process that forks children does not reply") from error
        if not reply:
            raise ZygoteLost("the process that forks children has ended")
        return wire.load(reply), descriptors


# --- in the new process ---


def _serve(connection: socket.socket) -> None:
    """Import all that a program may need, and fork children, until the server closes the
    connection."""
    try:
        walls.die_with_parent()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the token will arrive on standard input
        packet = connection.recv(4096)
        if not packet:
            return  # the server ended before it had read its options
        start = wire.load(packet)
        jobs = importlib.import_module(start["jobs"]).JOBS
        # These import torch, which the server must not.
        warm_up = importlib.import_module("explorer.sandbox.warm_up")
        child = importlib.import_module("explorer.sandbox.child")
        limit = start["memory"], walls.Walls(start["walls"]), start["scratch"]
        warm_up.prepare_torch()
        steps = deque([*warm_up.STEPS, collapse_memory] if start["fully"] else [])
        if steps:
            warm_up.prepare_programs()

        def perform(connection: socket.socket, line: mmap.mmap) -> None:
            child.perform_tasks(connection, jobs, line, *limit)

        connection.send(wire.dump({}))
        lines: dict[int, mmap.mmap] = {}
        pause = _FIRST_PAUSE
        while True:
            while steps and not select.select([connection], [], [], pause)[0]:
                steps.popleft()()
                pause = 0.0
            packet = connection.recv(4096)
            if not packet:
                break
            request = wire.load(packet)
            if "end" in request:
                _end_child(connection, lines, request["end"])
            else:
                _fork_child(connection, lines, perform)
    except ConnectionError:
        pass  # the server was killed
    except BaseException:
        traceback.print_exc()  # for the app's log
    finally:
        os._exit(0)


def _fork_child(
    connection: socket.socket,
    lines: dict[int, mmap.mmap],
    perform: Callable[[socket.socket, mmap.mmap], None],
) -> None:
    """Fork a child and send the server its process id and one end of its connection."""
    ends: tuple[socket.socket, ...] = ()
    try:
        ends = socket.socketpair()
        line = mmap.mmap(-1, mmap.PAGESIZE)
        pid = os.fork()
    except OSError as error:
        connection.send(wire.dump({"error": error.errno}))
    else:
        if pid == 0:
            for other in lines.values():
                other.close()
            _run_child(ends[1], line, perform)
        lines[pid] = line
        socket.send_fds(connection, [wire.dump({"pid": pid})], [ends[0].fileno()])
    finally:
        for end in ends:
            end.close()


def _run_child(
    connection: socket.socket,
    line: mmap.mmap,
    perform: Callable[[socket.socket, mmap.mmap], None],
) -> None:
    """In the child: wait for one task, perform it under its limits, and exit."""
    status = 1
    try:
        walls.isolate_fork(connection.fileno())
        perform(connection, line)
        status = 0
    finally:
        os._exit(status)


def _end_child(connection: socket.socket, lines: dict[int, mmap.mmap], pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, 9)  # has no effect on a process that has already ended
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with lines.pop(pid) as line:
        connection.send(wire.dump({"status": status, "line": read_line(line)}))
