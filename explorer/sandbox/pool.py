"""The server's children, one per task or live run: a fork on Linux, a new process elsewhere."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import selectors
import signal
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from explorer import limits
from explorer.sandbox import kernel, wire
from explorer.sandbox.messages import ChildExit, Task, read_line
from explorer.sandbox.options import ServerOptions, start_process
from explorer.sandbox.wire import Connection
from explorer.sandbox.zygote import Zygote


class Process(Protocol):
    """A child's process."""

    @property
    def pid(self) -> int: ...
    def kill(self) -> None: ...
    def end(self) -> ChildExit:
        """Kill it if it still runs, and return how it ended."""


@dataclass(eq=False)
class Child:
    """A process and the connection to it."""

    process: Process
    connection: Connection

    def send(self, task: Task) -> None:
        self.connection.send(wire.make_frame(wire.HEADER, wire.dump(task.header())))
        self.connection.send(wire.make_frame(wire.REQUEST, task.body))

    def send_next(self, task: Task) -> None:
        """Send a live child, which has answered, one more request."""
        self.connection.send(wire.make_frame(wire.NEXT, task.body))

    def rest(self, resting: bool) -> None:
        """Stop it until it is asked again, whatever it does, or let it go on."""
        if hasattr(signal, "SIGSTOP"):  # Windows has no such signal
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGSTOP if resting else signal.SIGCONT)

    def lower_priority(self) -> None:
        """Let every other process run first from now on, where the system can. On Linux each thread
        has a priority of its own."""
        pid = self.process.pid
        tasks = Path("/proc", str(pid), "task")
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ends just now
            for number in map(int, os.listdir(tasks)) if tasks.is_dir() else (pid,):
                if hasattr(os, "setpriority"):
                    os.setpriority(os.PRIO_PROCESS, number, 19)

    def end(self) -> ChildExit:
        child_exit = self.process.end()
        self.connection.close()
        return child_exit


class ForkPool:
    """A fresh fork of the zygote for every task, so that nothing remains from one run to the next.

    One child is forked ahead of time and waits for its task. It runs nothing meanwhile: a first
    program would copy the memory pages that most programs write to, which makes the answer come
    10 ms sooner, but costs twice the processor time of a small program.
    """

    grace = 0.25  # seconds by which the server's time limit is longer than the child's own

    def __init__(
        self, selector: selectors.BaseSelector, zygote: Zygote, processors: int, memory: int
    ) -> None:
        self._selector, self._zygote = selector, zygote
        self._most_memory = kernel.memory(zygote.pid) + memory + limits.MEMORY_MARGIN
        self.processors = processors
        self.max_children = max(16, 2 * self.processors)
        self._spare: Child | None = None
        self._may_fork_ahead = True

    def ready(self) -> bool:
        return True

    def prepare(self) -> None:
        """Fork the spare child. If that fails, `take` forks one or raises the error.

        A spare that ends while it waits is not replaced before the next task: its successors would
        probably end for the same reason, again and again.
        """
        if self._may_fork_ahead:
            self._may_fork_ahead = False
            with contextlib.suppress(OSError):
                self._spare = self._fork()
                self._spare.connection.on_end = self._drop_spare

    def take(self, task: Task) -> Child:
        """A child that has been sent the task. Raises OSError if none can be forked."""
        self._may_fork_ahead = True
        spare, self._spare = self._spare, None
        if spare is not None:
            is_halted = kernel.is_halted(spare.process.pid)
            if not is_halted:
                spare.send(task)
            if not is_halted and spare.connection.open:
                return spare
            spare.end()  # unless it had already ended
        child = self._fork()
        child.send(task)
        return child

    def has_too_much_memory(self, child: Child) -> bool:
        """Whether it has found a way around its own limit, as by making memory of the files of
        libraries."""
        return kernel.memory(child.process.pid) > self._most_memory

    def release(self, child: Child) -> ChildExit:
        """The child's task is over; how the child ended."""
        return child.end()

    def end(self) -> None:
        self._zygote.close()

    def _drop_spare(self) -> None:
        if self._spare is not None:
            self._spare.end()
            self._spare = None

    def _fork(self) -> Child:
        pid, sock = self._zygote.fork()
        return Child(_Fork(pid, self._zygote), Connection(self._selector, sock))


@dataclass(frozen=True)
class _Fork:
    pid: int
    zygote: Zygote

    def kill(self) -> None:
        os.kill(self.pid, 9)

    def end(self) -> ChildExit:
        return self.zygote.end(self.pid)


@dataclass(frozen=True)
class _Worker:
    process: subprocess.Popen[bytes]
    line: mmap.mmap
    file: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()

    def end(self) -> ChildExit:
        self.kill()  # has no effect on a process that has already ended
        status = self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        with self.line:
            child_exit = ChildExit(status, read_line(self.line))
        self.file.unlink(missing_ok=True)
        return child_exit


class WorkerPool:
    """A new process for every task, for systems without `fork`.

    The next one is started ahead, because starting takes seconds.
    """

    grace = 0.5

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self.processors = self.max_children = min(4, options.processes)
        self._starting: dict[str, _Worker] = {}
        self._idle: list[Child] = []
        self._busy: list[Child] = []
        self._start_one()

    def ready(self) -> bool:
        """Whether a worker waits for a task; if not, more are started where the limit allows it.

        Raises ChildProcessError if a worker ended before it was ready.
        """
        for name, worker in list(self._starting.items()):
            status = worker.process.poll()
            if status is not None:
                self._starting.pop(name).end()
                raise ChildProcessError(f"a worker ended with {status} as it started")
        if not self._idle and len(self._starting) < self.processors:
            self._start_one()
        return bool(self._idle)

    def prepare(self) -> None:
        """Start the worker for the next task. One that ended as it started is not replaced before
        that task: its successors would probably end for the same reason."""
        if not self._idle and not self._starting:
            with contextlib.suppress(OSError):
                self._start_one()

    def expects(self, name: str) -> bool:
        """Whether a worker of this name is starting."""
        return name in self._starting

    def add(self, name: str, connection: Connection) -> None:
        """The worker `name` has connected and waits for its task."""
        child = Child(self._starting.pop(name), connection)
        child.connection.on_end = lambda: self._drop(child)
        child.connection.on_frame = lambda kind, body: None
        self._idle.append(child)

    def take(self, task: Task) -> Child:
        """A waiting worker that has been sent the task."""
        child = self._idle.pop()
        self._busy.append(child)
        child.send(task)
        return child

    def has_too_much_memory(self, child: Child) -> bool:
        return False  # of a process by itself it is not known what it started with

    def release(self, child: Child) -> ChildExit:
        """The worker's task is over; how the worker ended."""
        self._busy.remove(child)
        return child.end()

    def end(self) -> None:
        for worker in (
            *(child.process for child in self._idle + self._busy),
            *self._starting.values(),
        ):
            worker.kill()

    def _drop(self, child: Child) -> None:
        self._idle.remove(child)
        child.end()

    def _start_one(self) -> None:
        name = secrets.token_hex(16)
        path = self._options.line_file(name)
        path.write_bytes(bytes(mmap.PAGESIZE))
        with path.open("r+b") as file:
            line = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        options = replace(self._options, worker=name, token="")
        self._starting[name] = _Worker(start_process(options), line, path)
