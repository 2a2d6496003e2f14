"""The server: one thread that takes requests, lets readers take turns, and minds the children.

A child that has run for `QUICK` seconds no longer counts against the processors: it goes on at
the lowest priority, so that however many slow programs run, a short one is answered soon.
"""

from __future__ import annotations

import hmac
import selectors
import socket
import time
import traceback
from dataclasses import dataclass
from functools import partial
from typing import Any

from explorer.language import ProgramError
from explorer.sandbox import exit_reasons, wire
from explorer.sandbox.channel import Channel
from explorer.sandbox.children import Child, Forks, Workers
from explorer.sandbox.queue import FairQueue
from explorer.sandbox.work import Task
from explorer.trace import to_plain

#: Seconds after which a child makes room for others.
QUICK = 0.5
#: Jobs that may wait, in all and of one reader, before any is turned away.
MOST_WAITING, MOST_OF_ONE = 100, 8
#: Longest time a job may ask for, in seconds.
MOST_SECONDS = 3600
#: Bytes a reader may leave untaken before the child has to wait.
MOST_BACKLOG = 2**20


@dataclass(frozen=True)
class JobHeader:
    """Header of a request: name of the job, its time limit in seconds, and whose it is."""

    job: str
    timeout: float
    reader: str


def _job_header(hello: dict[str, Any]) -> JobHeader:
    """Raises TypeError, KeyError or ValueError where it is none."""
    found = JobHeader(hello["job"], float(hello["timeout"]), hello["reader"])
    if not isinstance(found.job, str) or not isinstance(found.reader, str):
        raise TypeError("job and reader are names")
    if not 0 < found.timeout <= MOST_SECONDS:
        raise ValueError(f"a job has {MOST_SECONDS} s at the most")
    return found


@dataclass(eq=False)
class Job:
    """What one reader asked for, and the way back to that reader."""

    channel: Channel
    reader: str
    task: Task
    told: int = 0  # the position in the line last told

    def refuse(self, error: ProgramError) -> None:
        self.channel.send(wire.pack(wire.ERROR, wire.dump(to_plain(error))))
        self.channel.finish()


@dataclass(eq=False)
class Run:
    """A job that a child is doing."""

    job: Job
    child: Child
    started: float
    slow: bool = False


class Server:
    """Serves until `lifeline`, a file or socket, can be read to its end."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        listener: socket.socket,
        lifeline: Any,
        token: str,
        pool: Forks | Workers,
    ) -> None:
        self._selector, self._listener, self._token = selector, listener, token
        self._pool, self._serving = pool, True
        self._queue: FairQueue[Job] = FairQueue()
        self._running: list[Run] = []
        listener.setblocking(False)
        selector.register(listener, selectors.EVENT_READ, lambda events: self._accept())
        selector.register(lifeline, selectors.EVENT_READ, lambda events: self._stop())

    def serve(self) -> None:
        while self._serving:
            for key, events in self._selector.select(self._until_next_clock()):
                key.data(events)
            self._watch_clocks()
            self._start_jobs()
            self._tell_positions()
            if not len(self._queue):
                self._pool.prepare()
        for run in self._running:
            run.child.process.kill()

    def _stop(self) -> None:
        self._serving = False

    # --- conversations: hello, request, then nothing more but their end ---

    def _accept(self) -> None:
        try:
            channel = Channel(self._selector, self._listener.accept()[0])
        except OSError:
            return
        channel.on_frame = partial(self._greeted, channel)

    def _greeted(self, channel: Channel, kind: int, body: bytes) -> None:
        try:
            hello = wire.load(body)
            known = hmac.compare_digest(hello["token"].encode(), self._token.encode())
            if kind != wire.HELLO or not known:
                channel.close()
            elif "worker" in hello and isinstance(self._pool, Workers):
                self._pool.joined(hello["worker"], channel)
            else:
                channel.on_frame = partial(self._asked, channel, _job_header(hello))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            channel.close()

    def _asked(self, channel: Channel, header: JobHeader, kind: int, body: bytes) -> None:
        task = Task(header.job, body, header.timeout)
        job = Job(channel, header.reader, task)
        channel.on_frame = lambda kind, body: None
        channel.on_end = partial(self._left, job)
        self._queue.add(job)
        if self._queue.waiting(job.reader) > MOST_OF_ONE:
            self._queue.remove(job)
            job.refuse(exit_reasons.crowded())
        elif len(self._queue) > MOST_WAITING:
            self._queue.crowd_out().refuse(exit_reasons.crowded())

    def _left(self, job: Job) -> None:
        """The reader has gone: what was asked is no longer wanted."""
        run = next((run for run in self._running if run.job is job), None)
        if run is not None:
            self._end(run, answered=False)
        elif job in self._queue:
            self._queue.remove(job)

    # --- children ---

    def _start_jobs(self) -> None:
        job = None
        try:
            while len(self._queue) and self._has_room() and self._pool.ready():
                job = self._queue.take(self._may_start)
                if job is None:
                    return
                self._start(job)
                job = None
        except OSError:  # no worker, or no fork, to be had
            traceback.print_exc()  # for the app's log
            job = job or self._queue.take(lambda job: True)
            if job is not None:
                job.refuse(exit_reasons.no_server())

    def _has_room(self) -> bool:
        quick = sum(not run.slow for run in self._running)
        return quick < self._pool.processors and len(self._running) < self._pool.most

    def _may_start(self, job: Job) -> bool:
        same = sum(run.job.reader == job.reader for run in self._running)
        return same < self._pool.processors

    def _start(self, job: Job) -> None:
        run = Run(job, self._pool.take(job.task), time.monotonic())
        run.child.channel.on_frame = partial(self._answered, run)
        run.child.channel.on_end = partial(self._died, run)
        self._running.append(run)
        job.channel.send(wire.pack(wire.STARTED))

    def _answered(self, run: Run, kind: int, body: bytes) -> None:
        if kind not in (wire.PROGRESS, wire.ANSWER, wire.ERROR):
            run.child.channel.broken = True
            self._died(run)
            return
        if kind == wire.PROGRESS:
            run.job.channel.send(wire.pack(kind, body))
            return
        run.job.channel.on_end = lambda: None
        run.job.channel.send(wire.pack(kind, body))  # first: taking the child down takes a while
        run.job.channel.finish()
        self._end(run, answered=True)

    def _died(self, run: Run) -> None:
        broken = run.child.channel.broken
        died = exit_reasons.of_ending(self._end(run, answered=False), run.job.task.timeout)
        run.job.refuse(exit_reasons.unreadable_answer() if broken else died)

    def _end(self, run: Run, answered: bool) -> exit_reasons.Ending:
        self._running.remove(run)
        return self._pool.done(run.child, answered)

    # --- clocks ---

    def _until_next_clock(self) -> float:
        now = time.monotonic()
        rings = [self._limit(run) if run.slow else run.started + QUICK for run in self._running]
        return max(0.0, min([*rings, now + 1.0]) - now)

    def _limit(self, run: Run) -> float:
        return run.started + run.job.task.timeout + self._pool.grace

    def _watch_clocks(self) -> None:
        now = time.monotonic()
        for run in list(self._running):
            run.child.channel.pause(run.job.channel.backlog > MOST_BACKLOG)
            if not run.slow and now >= run.started + QUICK:
                run.slow = True
                self._pool.lower(run.child)
            if now >= self._limit(run):
                line = self._end(run, answered=False).line
                run.job.refuse(exit_reasons.out_of_time(run.job.task.timeout, line))

    def _tell_positions(self) -> None:
        for position, job in enumerate(list(self._queue), start=1):
            if job.told != position:
                job.told = position
                job.channel.send(wire.pack(wire.WAIT, wire.dump(position)))
