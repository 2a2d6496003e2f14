"""The process that children are forked from.

A child is a copy of the zygote, and a program can read its child's memory. So the zygote is forked
before the server has read any settings, and is sent only the name of the jobs' module, the limits
of a child and whether to warm up. Requests and tokens never reach it: the server sends a request
only to the child that performs it. Only the zygote and its children import torch: the server stays
small, and shares no memory with them that they would have to copy.
"""

from __future__ import annotations

import importlib
import os
import socket
from typing import Any

from explorer.sandbox import protocol
from explorer.sandbox.kernel_restrictions import Walls
from explorer.sandbox.task import ChildExit

#: Seconds within which a warm zygote has to reply. A fork, or ending a child, takes 10 to 20
#: milliseconds. A zygote that takes longer than this blocks every program: the server is replaced.
_REPLY_TIMEOUT = 10.0


class ZygoteLost(Exception):
    """The zygote has ended or does not reply; the server cannot continue without it."""


class Zygote:
    """The server's side. The constructor forks the process; `warm_up` must be called next."""

    def __init__(self) -> None:
        self._connection, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._connection.close()
            importlib.import_module("explorer.sandbox.forking").serve(child_end)
        child_end.close()

    def warm_up(self, jobs: str, memory: int, walls: Walls, scratch: str, fully: bool) -> None:
        """Wait until it has imported the jobs and, if `fully`, used everything they may need."""
        self._request(jobs=jobs, memory=memory, walls=walls, scratch=scratch, fully=fully)
        self._connection.settimeout(_REPLY_TIMEOUT)

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
            self._connection.send(protocol.dump(request))
            reply, descriptors, _, _ = socket.recv_fds(self._connection, 4096, 1)
        except OSError as error:
            raise ZygoteLost("the process that forks children does not reply") from error
        if not reply:
            raise ZygoteLost("the process that forks children has ended")
        return protocol.load(reply), descriptors
