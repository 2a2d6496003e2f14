"""The process that children are forked from.

A child is a copy of the zygote, and a program that escapes from the language can read its child's
memory. So the zygote is forked before the server has read any settings, and is sent only the name
of the jobs' module, the limits of a child and whether to warm up. Requests and tokens never reach
it: the server sends a request only to the child that performs it.
"""

from __future__ import annotations

import importlib
import mmap
import os
import socket
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from explorer.sandbox import kernel_restrictions, limits, protocol
from explorer.sandbox.child import perform_tasks
from explorer.sandbox.exit_reasons import ChildExit
from explorer.sandbox.kernel_restrictions import Walls
from explorer.sandbox.task import Job, read_line
from explorer.sandbox.warm_up import prepare_torch, run_example, warm_up

#: Seconds within which a warm zygote has to reply. A fork, or ending a child, takes 10 to 20
#: milliseconds. A zygote that takes longer than this blocks every program: the server is replaced.
_REPLY_TIMEOUT = 10.0

#: What a child may use: memory in bytes beyond what it starts with, and the kernel's walls.
Limit = tuple[int, Walls]


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

    def warm_up(self, jobs: str, memory: int, walls: Walls, fully: bool) -> None:
        """Wait until it has imported the jobs and, if `fully`, used everything they may need."""
        self._request(jobs=jobs, memory=memory, walls=walls, fully=fully)
        self._connection.settimeout(_REPLY_TIMEOUT)

    def fork(self, ahead: bool) -> tuple[int, socket.socket]:
        """A new child's process id and the socket to it. Raises OSError if there can be none.

        With `ahead`, the child runs an example before it waits for its task.
        """
        reply, descriptors = self._request(ahead=ahead)
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
            self._connection.send(protocol.dump(request))
            reply, descriptors, _, _ = socket.recv_fds(self._connection, 4096, 1)
        except OSError as error:
            raise ZygoteLost("the process that forks children does not reply") from error
        if not reply:
            raise ZygoteLost("the process that forks children has ended")
        return protocol.load(reply), descriptors


def _serve(connection: socket.socket) -> None:
    """In the new process: answer the server's requests until it closes the connection."""
    try:
        kernel_restrictions.die_with_parent()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the token will arrive on standard input
        packet = connection.recv(4096)
        if not packet:
            return  # the server ended before it had read its settings
        settings = protocol.load(packet)
        jobs = importlib.import_module(settings["jobs"]).JOBS
        limit = settings["memory"], Walls(settings["walls"])
        (warm_up if settings["fully"] else prepare_torch)()
        connection.send(protocol.dump({}))
        lines: dict[int, mmap.mmap] = {}
        while packet := connection.recv(4096):
            request = protocol.load(packet)
            if "end" in request:
                _end_child(connection, lines, request["end"])
            else:
                ahead = request["ahead"] and settings["fully"]
                _fork_child(connection, lines, jobs, limit, ahead)
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
    ahead: bool,
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
            _run_child(ends[1], line, jobs, limit, ahead)
        lines[pid] = line
        socket.send_fds(connection, [protocol.dump({"pid": pid})], [ends[0].fileno()])
    finally:
        for end in ends:
            end.close()


def _run_child(
    connection: socket.socket, line: mmap.mmap, jobs: Mapping[str, Job], limit: Limit, ahead: bool
) -> None:
    """In the child: wait for one task, perform it under its limits, and exit."""
    status = 1
    try:
        limits.isolate_fork(connection.fileno())
        if ahead:
            run_example()
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
