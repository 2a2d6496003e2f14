"""The server: one thread that accepts requests, lets readers take turns, and supervises children.

A child that has run for `QUICK` seconds no longer occupies a processor: it continues at the lowest
priority, so that a short program is answered soon, however many slow ones are running.
"""

from __future__ import annotations

import hmac
import math
import selectors
import socket
import time
import traceback
from dataclasses import dataclass
from functools import partial
from typing import Any

from explorer.language import ProgramError
from explorer.sandbox import exit_reasons, protocol
from explorer.sandbox.answer_limits import AnswerLimits
from explorer.sandbox.fair_queue import FairQueue
from explorer.sandbox.pool import Child, ForkPool, WorkerPool
from explorer.sandbox.protocol import Connection
from explorer.sandbox.task import Task
from explorer.trace import from_plain, to_plain

#: Seconds after which a child gives way to others.
QUICK = 0.5
#: Seconds within which a child has to notice that the reader stops it.
STOP_TIMEOUT = 1.0
#: How many requests may wait, in total and from one reader, before one is refused.
MAX_WAITING, MAX_WAITING_PER_READER = 100, 8
#: The longest time limit a request may have, in seconds.
MAX_SECONDS = 3600
#: How many unread bytes a reader may accumulate before the child has to wait.
MAX_BACKLOG = 2**20


@dataclass(frozen=True)
class JobHeader:
    """The header of a request: the job's name, its time limit in seconds, the reader, and what the
    child may send."""

    job: str
    timeout: float
    reader: str
    limits: AnswerLimits


def _parse_header(fields: dict[str, Any]) -> JobHeader:
    """Raises TypeError, KeyError or ValueError for an invalid header."""
    limits = from_plain(AnswerLimits, fields["limits"])
    header = JobHeader(fields["job"], float(fields["timeout"]), fields["reader"], limits)
    if not isinstance(header.job, str) or not isinstance(header.reader, str):
        raise TypeError("job and reader are strings")
    if not 0 < header.timeout <= MAX_SECONDS:
        raise ValueError(f"a job may run for at most {MAX_SECONDS} s")
    return header


@dataclass(eq=False)
class Request:
    """A task that a reader has asked for, and the connection for its answer."""

    connection: Connection
    reader: str
    task: Task
    limits: AnswerLimits
    position: int = 0  # in the queue, as last sent to the reader

    def refuse(self, error: ProgramError) -> None:
        body = protocol.dump(to_plain(error))
        self.connection.send(protocol.make_frame(protocol.ERROR, body))
        self.connection.finish()


@dataclass(eq=False)
class RunningRequest:
    """A request whose task a child is performing; `started` is a time.monotonic() value, `messages`
    the number of messages before the answer so far. `stop_by` is when the child must have noticed
    that the reader stops it."""

    request: Request
    child: Child
    started: float
    messages: int = 0
    slow: bool = False
    stop_by: float = math.inf


class Server:
    """Serves until `parent_pipe`, a file or socket, reaches its end: the app has closed it."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        listener: socket.socket,
        parent_pipe: Any,
        token: str,
        pool: ForkPool | WorkerPool,
    ) -> None:
        self._selector, self._listener, self._token = selector, listener, token
        self._pool, self._serving = pool, True
        self._queue: FairQueue[Request] = FairQueue()
        self._running: list[RunningRequest] = []
        listener.setblocking(False)
        selector.register(listener, selectors.EVENT_READ, lambda events: self._accept())
        selector.register(parent_pipe, selectors.EVENT_READ, lambda events: self._stop())

    def serve(self) -> None:
        while self._serving:
            for key, events in self._selector.select(self._seconds_until_next_check()):
                key.data(events)
            self._check_times()
            self._start_requests()
            self._send_positions()
            if not len(self._queue):
                self._pool.prepare()
        for running in self._running:
            running.child.process.kill()

    def _stop(self) -> None:
        self._serving = False

    # --- connections: a header, a request, and at most a stop until the end ---

    def _accept(self) -> None:
        try:
            connection = Connection(self._selector, self._listener.accept()[0])
        except OSError:
            return
        connection.on_frame = partial(self._receive_header, connection)

    def _receive_header(self, connection: Connection, kind: int, body: bytes) -> None:
        try:
            fields = protocol.load(body)
            if isinstance(self._pool, WorkerPool) and self._pool.expects(fields.get("worker")):
                self._pool.add(fields["worker"], connection)
                return
            trusted = hmac.compare_digest(fields["token"].encode(), self._token.encode())
            if kind != protocol.HEADER or not trusted:
                connection.close()
            else:
                header = _parse_header(fields)
                connection.on_frame = partial(self._receive_request, connection, header)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            connection.close()

    def _receive_request(
        self, connection: Connection, header: JobHeader, kind: int, body: bytes
    ) -> None:
        task = Task(header.job, body, header.timeout)
        request = Request(connection, header.reader, task, header.limits)
        connection.on_frame = lambda kind, body: self._stop_request(request)
        connection.on_end = partial(self._cancel, request)
        self._queue.add(request)
        if self._queue.count(request.reader) > MAX_WAITING_PER_READER:
            self._queue.remove(request)
            request.refuse(exit_reasons.queue_full())
        elif len(self._queue) > MAX_WAITING:
            self._queue.evict().refuse(exit_reasons.queue_full())

    def _stop_request(self, request: Request) -> None:
        """The reader wants what has been done so far."""
        running = self._running_for(request)
        if running is not None:
            if running.stop_by == math.inf:
                running.stop_by = time.monotonic() + STOP_TIMEOUT
                running.child.connection.send(protocol.make_frame(protocol.STOP))
        elif request in self._queue:
            self._queue.remove(request)
            request.refuse(exit_reasons.stopped_in_queue())

    def _running_for(self, request: Request) -> RunningRequest | None:
        return next((r for r in self._running if r.request is request), None)

    def _cancel(self, request: Request) -> None:
        """The reader has closed the connection: the answer is no longer needed."""
        running = self._running_for(request)
        if running is not None:
            self._end(running, answered=False)
        elif request in self._queue:
            self._queue.remove(request)

    # --- children ---

    def _start_requests(self) -> None:
        request = None
        try:
            while len(self._queue) and self._has_room() and self._pool.ready():
                request = self._queue.take(self._may_start)
                if request is None:
                    return
                self._start(request)
                request = None
        except OSError:  # a worker or a fork could not be created
            traceback.print_exc()  # for the app's log
            request = request or self._queue.take(lambda request: True)
            if request is not None:
                request.refuse(exit_reasons.server_not_started())

    def _has_room(self) -> bool:
        quick = sum(not running.slow for running in self._running)
        return quick < self._pool.processors and len(self._running) < self._pool.max_children

    def _may_start(self, request: Request) -> bool:
        """Whether fewer of this reader's requests are running than there are processors."""
        same = sum(running.request.reader == request.reader for running in self._running)
        return same < self._pool.processors

    def _start(self, request: Request) -> None:
        running = RunningRequest(request, self._pool.take(request.task), time.monotonic())
        running.child.connection.limit_frames(request.limits.frames())
        running.child.connection.on_frame = partial(self._forward, running)
        running.child.connection.on_end = partial(self._child_ended, running)
        self._running.append(running)
        request.connection.send(protocol.make_frame(protocol.STARTED))

    def _forward(self, running: RunningRequest, kind: int, body: bytes) -> None:
        """Send the reader a frame from the child; ANSWER and ERROR end the request."""
        reader = running.request.connection
        if kind in (protocol.PROGRESS, protocol.STOP):
            running.messages += 1
            if running.messages > running.request.limits.progress + 1:  # one notices the stop
                running.child.connection.broken = True
                self._child_ended(running)
            elif kind == protocol.PROGRESS:
                reader.send(protocol.make_frame(kind, body))
            else:
                running.stop_by = math.inf
            return
        reader.on_end = lambda: None
        reader.send(protocol.make_frame(kind, body))  # before ending the child, which takes time
        reader.finish()
        self._end(running, answered=True)

    def _child_ended(self, running: RunningRequest) -> None:
        broken = running.child.connection.broken
        child_exit = self._end(running, answered=False)
        error = exit_reasons.explain_exit(child_exit, running.request.task.timeout)
        running.request.refuse(exit_reasons.unreadable_answer() if broken else error)

    def _end(self, running: RunningRequest, answered: bool) -> exit_reasons.ChildExit:
        self._running.remove(running)
        return self._pool.release(running.child, answered)

    # --- time limits and positions in the queue ---

    def _seconds_until_next_check(self) -> float:
        now = time.monotonic()
        times = [
            self._limit(r) if r.slow else min(r.started + QUICK, self._limit(r))
            for r in self._running
        ]
        return max(0.0, min([*times, now + 1.0]) - now)

    def _limit(self, running: RunningRequest) -> float:
        limit = running.started + running.request.task.timeout + self._pool.grace
        return min(limit, running.stop_by)

    def _check_times(self) -> None:
        now = time.monotonic()
        for running in list(self._running):
            request, child = running.request, running.child
            child.connection.pause(request.connection.backlog > MAX_BACKLOG)
            if not running.slow and now >= running.started + QUICK:
                running.slow = True
                self._pool.lower_priority(child)
            if now >= self._limit(running):
                line = self._end(running, answered=False).line
                is_stopped = now >= running.stop_by
                late = exit_reasons.out_of_time(request.task.timeout, line)
                request.refuse(exit_reasons.stopped_inside(line) if is_stopped else late)

    def _send_positions(self) -> None:
        for position, request in enumerate(list(self._queue), start=1):
            if request.position != position:
                request.position = position
                frame = protocol.make_frame(protocol.WAIT, protocol.dump(position))
                request.connection.send(frame)
