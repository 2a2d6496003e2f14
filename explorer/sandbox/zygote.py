"""The process children are forked from.

A child is a copy of it, and whoever breaks out of the language can read a child's memory: so it
is made before the server has read anything, and learns of the jobs their module's name and how
much memory they may use. Requests and tokens never reach it; a request goes from the server to its
own child alone.
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

from explorer.sandbox import limits, walls, warm, wire, work
from explorer.sandbox.context import Job
from explorer.sandbox.exit_reasons import Ending

#: Seconds it may take to answer once it is warm. A fork, or the end of a child, takes 10 to 20
#: milliseconds; one that takes longer than this ends every program, and the server is replaced.
_ANSWERING = 10.0


class Lost(Exception):
    """It has ended, or does not answer: the server is of no more use."""


class Zygote:
    """The server's side. Makes the process at once; `warm` has to be called before any other."""

    def __init__(self) -> None:
        self._channel, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._channel.close()
            _live(its)
        its.close()

    def warm(self, jobs: str, memory: int) -> None:
        """Wait until it has imported and used all that a job may need."""
        self._ask(jobs=jobs, memory=memory)
        self._channel.settimeout(_ANSWERING)

    def fork(self, ahead: bool) -> tuple[int, socket.socket]:
        """A new child and the connection to it. Raises OSError where none is to be had."""
        told, descriptors = self._ask(ahead=ahead)
        connections = [socket.socket(fileno=number) for number in descriptors]
        if "error" in told:
            raise OSError(told["error"], os.strerror(told["error"]))
        if not connections:
            self.end(told["pid"])
            raise OSError("there was no descriptor for the connection to a child")
        return told["pid"], connections[0]

    def end(self, pid: int) -> Ending:
        """Make sure that a child is gone, and say how it ended and on which line it was."""
        told, _ = self._ask(end=pid)
        return Ending(told["status"], told["line"])

    def close(self) -> None:
        """It ends, and its children with it."""
        self._channel.close()

    def _ask(self, **question: Any) -> tuple[dict[str, Any], list[int]]:
        try:
            self._channel.send(wire.dump(question))
            answer, descriptors, _, _ = socket.recv_fds(self._channel, 4096, 1)
        except OSError as error:
            raise Lost("the process that makes children does not answer") from error
        if not answer:
            raise Lost("the process that makes children has ended")
        return wire.load(answer), descriptors


def _live(channel: socket.socket) -> None:
    """In the new process: do what the server asks until it closes the channel."""
    try:
        walls.die_with_parent()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what comes next there is the token
        packet = channel.recv(4096)
        if not packet:
            return  # the server ended before it had settings
        asked = wire.load(packet)
        jobs = importlib.import_module(asked["jobs"]).JOBS
        warm.up()
        channel.send(wire.dump({}))
        lines: dict[int, mmap.mmap] = {}
        while packet := channel.recv(4096):
            question = wire.load(packet)
            if "end" in question:
                _end(channel, lines, question["end"])
            else:
                _fork(channel, lines, jobs, asked["memory"], question["ahead"])
    except ConnectionError:
        pass  # the server was killed
    except BaseException:
        traceback.print_exc()  # for the app's log
    finally:
        os._exit(0)


def _fork(
    channel: socket.socket,
    lines: dict[int, mmap.mmap],
    jobs: Mapping[str, Job],
    memory: int,
    ahead: bool,
) -> None:
    ends: tuple[socket.socket, ...] = ()
    try:
        ends = socket.socketpair()
        line = mmap.mmap(-1, mmap.PAGESIZE)
        pid = os.fork()
    except OSError as error:
        channel.send(wire.dump({"error": error.errno}))
    else:
        if pid == 0:
            for another in lines.values():
                another.close()
            _be_child(ends[1], line, jobs, memory, ahead)
        lines[pid] = line
        socket.send_fds(channel, [wire.dump({"pid": pid})], [ends[0].fileno()])
    finally:
        for end in ends:
            end.close()


def _be_child(
    channel: socket.socket, line: mmap.mmap, jobs: Mapping[str, Job], memory: int, ahead: bool
) -> None:
    status = 1
    try:
        limits.cut_off(channel.fileno())
        if ahead:
            warm.rehearse()
        asked = work.asked(channel)
        if asked is not None:
            limits.set_clock(asked.timeout)
            limits.confine(memory)
            work.perform(channel, jobs, asked, line)
        status = 0
    finally:
        os._exit(status)


def _end(channel: socket.socket, lines: dict[int, mmap.mmap], pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, 9)  # changes nothing for one that has ended already
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with lines.pop(pid) as line:
        channel.send(wire.dump({"status": status, "line": work.read_line(line)}))
