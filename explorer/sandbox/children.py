"""The server's children: one fork per job on Linux, a few lasting workers elsewhere."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import selectors
import subprocess
from dataclasses import dataclass, replace
from typing import Protocol

from explorer.sandbox import wire
from explorer.sandbox.channel import Channel
from explorer.sandbox.exit_reasons import Ending
from explorer.sandbox.start import Settings, start
from explorer.sandbox.work import Task, read_line
from explorer.sandbox.zygote import Zygote


class Process(Protocol):
    """A child as its parent sees it."""

    @property
    def pid(self) -> int: ...
    def kill(self) -> None: ...
    def end(self) -> Ending:
        """Make sure it is gone, and say how it ended."""


@dataclass(eq=False)
class Child:
    """A process and the channel to it."""

    process: Process
    channel: Channel

    def end(self) -> Ending:
        ending = self.process.end()
        self.channel.close()
        return ending


def _send(child: Child, task: Task) -> None:
    question = {"job": task.name, "timeout": task.timeout}
    child.channel.send(wire.pack(wire.HELLO, wire.dump(question)))
    child.channel.send(wire.pack(wire.REQUEST, task.body))


class Forks:
    """A fresh fork of the zygote for every job: nothing is left from run to run.

    One is made ahead and waits for its errand: forking takes as long as a small program, and the
    pages a first run touches, copied then, as long again.
    """

    grace = 0.5  # seconds by which the child's own clock rings before the server's

    def __init__(self, selector: selectors.BaseSelector, zygote: Zygote, processors: int) -> None:
        self._selector, self._zygote = selector, zygote
        self.processors = processors
        self.most = max(16, 2 * self.processors)
        self._spare: Child | None = None
        self._due = True

    def ready(self) -> bool:
        return True

    def prepare(self) -> None:
        """Have a child waiting; without one `take` makes it, or says why it cannot.

        One that ends as it waits is not replaced before the next errand: what ended it would end
        the next as well, and so on without rest.
        """
        if self._due:
            self._due = False
            with contextlib.suppress(OSError):
                self._spare = self._fork(ahead=True)
                self._spare.channel.on_end = self.lost

    def take(self, task: Task) -> Child:
        self._due = True
        spare, self._spare = self._spare, None
        if spare is not None:
            _send(spare, task)
            if spare.channel.open:
                return spare
            spare.end()  # it was gone already
        child = self._fork(ahead=False)
        _send(child, task)
        return child

    def done(self, child: Child, answered: bool) -> Ending:
        return child.end()

    def lost(self) -> None:
        """The child that waited has ended."""
        if self._spare is not None:
            self._spare.end()
            self._spare = None

    def end(self) -> None:
        self._zygote.close()

    def lower(self, child: Child) -> None:
        """Let every other process go first from now on."""
        os.setpriority(os.PRIO_PROCESS, child.process.pid, 19)

    def _fork(self, ahead: bool) -> Child:
        pid, connection = self._zygote.fork(ahead)
        return Child(_Fork(pid, self._zygote), Channel(self._selector, connection))


@dataclass(frozen=True)
class _Fork:
    pid: int
    zygote: Zygote

    def kill(self) -> None:
        os.kill(self.pid, 9)

    def end(self) -> Ending:
        return self.zygote.end(self.pid)


@dataclass(frozen=True)
class _Worker:
    process: subprocess.Popen[bytes]
    line: mmap.mmap

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()

    def end(self) -> Ending:
        self.kill()  # changes nothing for one that has ended already
        return Ending(self.process.wait(), read_line(self.line))


class Workers:
    """Where forking is not to be had: processes that do job after job, and are replaced when one
    dies or has to be ended. Unlike a fork, a worker keeps its caches from run to run."""

    grace = 0.0

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.processors = self.most = min(4, settings.processors)
        self._starting: dict[str, tuple[subprocess.Popen[bytes], mmap.mmap]] = {}
        self._idle: list[Child] = []
        self._busy: list[Child] = []
        self._start_one()

    def ready(self) -> bool:
        """Whether a worker is free; if not, one more is started where there is room.

        Raises ChildProcessError where a worker ended before it was ready.
        """
        for name, (process, _) in list(self._starting.items()):
            if process.poll() is not None:
                del self._starting[name]
                raise ChildProcessError(f"a worker ended with {process.returncode} as it started")
        if not self._idle and not self._starting and len(self._busy) < self.processors:
            self._start_one()
        return bool(self._idle)

    def prepare(self) -> None:
        """Workers wait by themselves."""

    def joined(self, name: str, channel: Channel) -> None:
        """The worker `name` has called back and waits for its first errand."""
        process, line = self._starting.pop(name)
        self._rest(Child(_Worker(process, line), channel))

    def take(self, task: Task) -> Child:
        child = self._idle.pop()
        self._busy.append(child)
        _send(child, task)
        return child

    def done(self, child: Child, answered: bool) -> Ending:
        self._busy.remove(child)
        if not answered:
            return child.end()
        self._rest(child)
        return Ending(0, None)

    def lower(self, child: Child) -> None:
        """A worker cannot be asked to hurry again, so its priority stays."""

    def end(self) -> None:
        for child in self._idle + self._busy:
            child.process.kill()
        for process, _ in self._starting.values():
            process.kill()

    def _rest(self, child: Child) -> None:
        def lost() -> None:
            self._idle.remove(child)
            child.end()

        child.channel.on_end = lost
        child.channel.on_frame = lambda kind, body: None
        self._idle.append(child)

    def _start_one(self) -> None:
        name = secrets.token_hex(8)
        path = self._settings.line(name)
        path.write_bytes(bytes(mmap.PAGESIZE))
        with path.open("r+b") as file:
            line = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self._starting[name] = (start(replace(self._settings, worker=name)), line)
