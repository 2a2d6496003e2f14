"""The server: one thread that accepts requests, queues them and supervises children.

A child that has run for `QUICK` seconds no longer occupies a processor: it continues at the lowest
priority, so that a short program is answered soon, however many slow ones are running.

During a drag, one child performs one task of its reader after the other: a live run. Each of its
requests waits in the queue; between them the child rests and takes no one's place.

What nobody waits for, such as the tries of a run's answers, is done in the background: it starts
when no other request can, and gives way from its beginning.
"""

from __future__ import annotations

import hmac
import math
import selectors
import socket
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from explorer import limits
from explorer.sandbox import wire
from explorer.sandbox.fair_queue import FairQueue
from explorer.sandbox.kernel import is_halted, oom_kills, states
from explorer.sandbox.messages import AnswerLimits, ChildExit, Task
from explorer.sandbox.pool import Child, ForkPool, WorkerPool
from explorer.sandbox.scratch import Scratch
from explorer.sandbox.wire import Connection

#: Seconds after which a child gives way to others.
QUICK = 0.5
#: Seconds between two looks at what a child has written, and at the threads of a slow one.
LOOK = 0.1
#: Seconds within which all threads of a child stop, unless one waits for the disk.
STOPS = 0.005


@dataclass(eq=False)
class Request:
    """A task that a reader has asked for, and the connection for its answer.

    A live run has a `child` of its own from its first task on, and the next `task` takes the place
    of the last. The child takes none after `ends`, and is ended at `rests_until` if it rests then.
    A request in the `background` starts after all others and runs at the lowest priority.
    """

    connection: Connection
    reader: str
    task: Task
    limits: AnswerLimits
    background: bool = False
    position: int = 0  # in the queue, as last sent to the reader
    child: Child | None = None
    ends: float = 0.0
    rests_until: float = math.inf
    sent: int = 0  # bytes of the file passed on to the child

    @classmethod
    def from_header(cls, connection: Connection, fields: dict[str, Any]) -> Request:
        """The request that a header announces; its task has no body yet. Raises TypeError, KeyError
        or ValueError for an invalid header."""
        job, reader, timeout = fields["job"], fields["reader"], float(fields["timeout"])
        live, size = fields["live"] is True, int(fields.get("data", 0))
        answer = AnswerLimits(**fields["limits"])
        if not isinstance(job, str) or not isinstance(reader, str):
            raise TypeError("job and reader are strings")
        if not all(isinstance(limit, int) for limit in vars(answer).values()):
            raise TypeError("limits are whole numbers")
        if not 0 < timeout <= limits.LONGEST_JOB_SECONDS:
            raise ValueError(f"a job may run for at most {limits.LONGEST_JOB_SECONDS} s")
        if not 0 <= size <= (0 if live else limits.REQUEST_FILE):
            raise ValueError("the file is too large, or comes with a live run")
        task = Task(job, b"", timeout, live, size)
        return cls(connection, reader, task, answer, fields.get("background") is True)

    def refuse(self, reason: str, line: int | None = None) -> None:
        """Say why there is no answer: the app makes a sentence of it (`exit_reasons.SENTENCES`)."""
        self._fail({"reason": reason, "line": line, "timeout": self.task.timeout})

    def report_exit(self, child_exit: ChildExit) -> None:
        """Say how the child ended, without an answer."""
        self._fail(vars(child_exit) | {"timeout": self.task.timeout})

    def _fail(self, message: dict[str, Any]) -> None:
        self.connection.send(wire.make_frame(wire.FAILED, wire.dump(message)))
        self.connection.finish()


@dataclass(eq=False)
class RunningRequest:
    """A request whose task a child is performing; `started` is a time.monotonic() value, `messages`
    the number of messages before the answer so far, of which `parts` are parts of it. `stop_by` is
    when the child must have noticed that the reader stops it. `is_next` says whether the child has
    performed others before, `is_headless` whether its first thread has ended and others go on, so
    that the kernel does not tell what it holds. `data` is how many raw bytes it has sent,
    `oom_kills` how often the kernel had killed for want of memory when it started."""

    request: Request
    child: Child
    started: float
    is_next: bool = False
    messages: int = 0
    parts: int = 0
    slow: bool = False
    is_headless: bool = False
    looked: float = 0.0
    stop_by: float = math.inf
    data: int = 0
    oom_kills: int = field(default_factory=oom_kills)


class Server:
    """Serves until `parent_pipe`, a file or socket, reaches its end: the app has closed it."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        listener: socket.socket,
        parent_pipe: Any,
        token: str,
        pool: ForkPool | WorkerPool,
        rest: float,
        scratch: Scratch,
    ) -> None:
        self._selector, self._listener, self._token = selector, listener, token
        self._pool, self._rest_time, self._serving = pool, rest, True
        self._scratch = scratch
        self._queue: FairQueue[Request] = FairQueue()
        self._running: list[RunningRequest] = []
        self._live: list[Request] = []  # those with a child of their own, resting or not
        self._most_live = max(2, pool.processors)
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
        for child in {
            *(running.child for running in self._running),
            *(request.child for request in self._live if request.child is not None),
        }:
            child.process.kill()

    def _stop(self) -> None:
        self._serving = False

    # --- connections: a header, a request, and then a stop, or the next of a live run ---

    def _accept(self) -> None:
        """Accept all who wait: between two rounds children are forked, which takes longer."""
        with suppress(OSError):
            while True:
                connection = Connection(self._selector, self._listener.accept()[0])
                connection.limit_frames({wire.HEADER: limits.HEADER_BYTES})  # of a stranger as yet
                connection.on_frame = partial(self._receive_header, connection)

    def _receive_header(self, connection: Connection, kind: int, body: bytearray) -> None:
        try:
            fields = wire.load(body)
            if isinstance(self._pool, WorkerPool) and self._pool.expects(fields.get("worker")):
                self._pool.add(fields["worker"], connection)
                return
            if not hmac.compare_digest(fields["token"].encode(), self._token.encode()):
                connection.close()
            else:
                request = Request.from_header(connection, fields)
                connection.limit_frames(None)
                connection.on_frame = partial(self._receive_request, request)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            connection.close()

    def _receive_request(self, request: Request, kind: int, body: bytearray) -> None:
        request.task = replace(request.task, body=body)
        request.connection.on_frame = partial(self._receive_more, request)
        request.connection.on_end = partial(self._cancel, request)
        self._enqueue(request)

    def _receive_more(self, request: Request, kind: int, body: bytearray) -> None:
        if kind == wire.DATA:
            self._pass_on(request, body)
        elif kind != wire.NEXT:
            self._stop_request(request)
        elif request.rests_until < math.inf:
            request.rests_until = math.inf
            request.task = replace(request.task, body=body)
            self._enqueue(request)

    def _pass_on(self, request: Request, body: bytearray) -> None:
        """Send the child a part of the file. The reader sends it once the task has started."""
        running = self._running_for(request)
        request.sent += len(body)
        if running is None or request.sent > request.task.data_size:
            request.connection.close()
            self._cancel(request)
            return
        running.child.connection.send(wire.make_frame(wire.DATA, body))
        request.connection.pause(running.child.connection.backlog > limits.UNREAD_BYTES)

    def _enqueue(self, request: Request) -> None:
        request.position = 0
        self._queue.add(request)
        if self._queue.count(request.reader) > limits.WAITING_OF_ONE:
            self._refuse(request, "queue_full")
        elif len(self._queue) > limits.WAITING:
            self._refuse(self._queue.evict(), "queue_full")

    def _stop_request(self, request: Request) -> None:
        """The reader wants what has been done so far."""
        running = self._running_for(request)
        if running is not None:
            if running.stop_by == math.inf:
                running.stop_by = time.monotonic() + limits.STOP_SECONDS
                running.child.connection.send(wire.make_frame(wire.STOP))
        elif request in self._queue:
            self._refuse(request, "stopped_in_queue")

    def _running_for(self, request: Request) -> RunningRequest | None:
        return next((r for r in self._running if r.request is request), None)

    def _cancel(self, request: Request) -> None:
        """The reader has closed the connection: the answer is no longer needed."""
        running = self._running_for(request)
        if running is not None:
            self._end(running)
        else:
            self._drop(request)

    def _refuse(self, request: Request, reason: str) -> None:
        """Refuse a request that is not running."""
        request.refuse(reason)
        self._drop(request)

    def _drop(self, request: Request) -> None:
        """Forget a request that is not running, and end the child that rests for it."""
        if request in self._queue:
            self._queue.remove(request)
        self._lose_resting(request)

    def _lose_resting(self, request: Request) -> None:
        """End a child that rests, if it has not ended by itself. A request that waits in the queue
        gets another; without one, the live run is over."""
        if request in self._live:
            self._live.remove(request)
            child, request.child, request.rests_until = request.child, None, math.inf
            assert child is not None
            self._release(child)
        if request not in self._queue:
            request.connection.finish()

    # --- children ---

    def _start_requests(self) -> None:
        request = None
        try:
            while len(self._queue) and self._has_room():
                is_ready = self._pool.ready()
                request = self._queue.take(partial(self._may_start, is_ready))
                if request is None:
                    return
                self._start(request)
                request = None
        except OSError:  # a worker or a fork could not be created
            traceback.print_exc()  # for the app's log
            request = request or self._queue.take(lambda request: request.child is None)
            if request is not None:
                request.refuse("server_not_started")

    def _has_room(self) -> bool:
        quick = sum(not running.slow for running in self._running)
        return quick < self._pool.processors and len(self._running) < self._pool.max_children

    def _may_start(self, is_ready: bool, request: Request) -> bool:
        """Whether it has a child, or the pool one for it, and fewer of this reader's requests are
        running than there are processors. Of those in the background, a reader has one running at
        most, and all readers together as many as there are processors."""
        others = [r.request for r in self._running if r.request.background == request.background]
        same = sum(other.reader == request.reader for other in others)
        most = 1 if request.background else self._pool.processors
        if request.background and len(others) >= self._pool.processors:
            return False
        return same < most and (is_ready or request.child is not None)

    def _start(self, request: Request) -> None:
        child, now = request.child, time.monotonic()
        is_next = child is not None
        if child is None:
            stays = request.task.live and self._may_stay(request)
            child = self._pool.take(replace(request.task, live=stays))
            if stays:
                request.child, request.ends = child, now + limits.LIVE_SECONDS
                self._live.append(request)
        running = RunningRequest(request, child, now, is_next, looked=now)
        self._running.append(running)
        if request.background:
            self._give_way(running)
        request.connection.send(wire.make_frame(wire.STARTED))
        child.connection.limit_frames(request.limits.frames())
        child.connection.on_frame = partial(self._forward, running)
        child.connection.on_end = partial(self._child_ended, running)
        if is_next:
            child.rest(False)
            child.send_next(request.task)

    def _give_way(self, running: RunningRequest) -> None:
        """Let all others run first from now on."""
        running.slow = True
        running.child.lower_priority()

    def _may_stay(self, request: Request) -> bool:
        """Whether there may be one more live child, and this reader has none. Without one, each
        request of a drag is an ordinary one."""
        readers = [live.reader for live in self._live]
        return len(readers) < self._most_live and request.reader not in readers

    def _rest(self, running: RunningRequest) -> None:
        """The child of a live run has answered: it waits for the reader's next request, stopped, so
        that nothing the last program left there runs meanwhile."""
        request, connection = running.request, running.child.connection
        self._remove(running)
        running.child.rest(True)
        if self._scratch.is_too_full(running.child.process.pid):
            self._lose_resting(request)
            return
        request.rests_until = time.monotonic() + self._rest_time
        connection.on_frame = lambda kind, body: self._lose_resting(request)
        connection.on_end = partial(self._lose_resting, request)
        connection.pause(False)

    def _forward(self, running: RunningRequest, kind: int, body: bytearray) -> None:
        """Send the reader a frame from the child; ANSWER and ERROR end the request."""
        reader = running.request.connection
        if kind in (wire.PROGRESS, wire.PART, wire.STOP):
            running.messages += 1
            running.parts += kind == wire.PART
            limits, others = running.request.limits, running.messages - running.parts
            # One of the others notices the stop.
            if running.parts > limits.parts or others > limits.progress + 1:
                running.child.connection.broken = True
                self._child_ended(running)
            elif kind != wire.STOP:
                reader.send(wire.make_frame(kind, body))
            else:
                running.stop_by = math.inf
            return
        if kind == wire.DATA:
            running.data += len(body)
            running.messages += 1
            if not running.request.limits.allow_data(running.data, running.messages):
                running.child.connection.broken = True
                self._child_ended(running)
            else:
                reader.send(wire.make_frame(kind, body))
            return
        frame = wire.make_frame(kind, body)
        if self._stays(running, kind):
            reader.send(frame)
            self._rest(running)
            return
        reader.on_end = lambda: None
        reader.send(frame)  # before ending the child, which takes time
        reader.finish()
        self._end(running)

    def _stays(self, running: RunningRequest, kind: int) -> bool:
        """Whether the child, which has sent its last frame for this task, may take another."""
        request = running.request
        is_live = request in self._live and time.monotonic() < request.ends
        return kind == wire.ANSWER and is_live

    def _child_ended(self, running: RunningRequest, halted: bool = False) -> None:
        broken = running.child.connection.broken
        child_exit = self._end(running)
        if running.is_next and (child_exit.status == 0 or halted) and not running.messages:
            # A live child that is no longer as it was ends after its answer. This request came
            # before that was known.
            self._enqueue(running.request)
            return
        if broken:
            running.request.refuse("unreadable_answer")
        elif child_exit.status == -9 and oom_kills() > running.oom_kills:
            running.request.refuse("killed_for_memory", child_exit.line)
        else:
            running.request.report_exit(child_exit)

    def _remove(self, running: RunningRequest) -> None:
        self._running.remove(running)
        if not running.request.background:
            self._queue.ledger.charge(running.request.reader, time.monotonic() - running.started)

    def _end(self, running: RunningRequest) -> ChildExit:
        self._remove(running)
        if running.request in self._live:
            self._live.remove(running.request)
            running.request.child = None
        return self._release(running.child)

    def _release(self, child: Child) -> ChildExit:
        """The child's task is over, and what it wrote is not needed; how it ended."""
        child_exit = self._pool.release(child)
        self._scratch.drop(child.process.pid)
        return child_exit

    # --- time limits and positions in the queue ---

    def _seconds_until_next_check(self) -> float:
        now = time.monotonic()
        times = [min(r.looked + LOOK, self._limit(r)) for r in self._running]
        times += [r.started + QUICK for r in self._running if not r.slow]
        times += [request.rests_until for request in self._live]
        return max(0.0, min([*times, now + 1.0]) - now)

    def _limit(self, running: RunningRequest) -> float:
        limit = running.started + running.request.task.timeout + self._pool.grace
        return min(limit, running.stop_by)

    def _check_times(self) -> None:
        now = time.monotonic()
        for running in list(self._running):
            request, child = running.request, running.child
            child.connection.pause(request.connection.backlog > limits.UNREAD_BYTES)
            request.connection.pause(child.connection.backlog > limits.UNREAD_BYTES)
            if not running.slow and now >= running.started + QUICK:
                self._give_way(running)
            if now >= self._limit(running):
                line = self._end(running).line
                if now >= running.stop_by:
                    request.refuse("stopped_inside", line)
                else:
                    request.refuse("out_of_time", line)
            elif is_halted(child.process.pid):
                self._child_ended(running, halted=True)
            elif now >= running.looked + LOOK:
                self._look(running, now)

        for request in list(self._live):
            if now >= request.rests_until:
                self._lose_resting(request)

    def _look(self, running: RunningRequest, now: float) -> None:
        """At what the child has written, and at its threads, which may be new."""
        running.looked = now
        first, *others = states(running.child.process.pid) or [""]
        if first == "Z" and any(state != "Z" for state in others):
            if running.is_headless:  # for a whole look: it does not just end
                in_time = now < running.started + running.request.task.timeout
                running.child.connection.broken = in_time  # later the kernel has ended it
                self._child_ended(running)
                return
            running.is_headless = True
        if self._has_written_too_much(running.child):
            running.request.refuse("disk_full", self._end(running).line)
        elif self._pool.has_too_much_memory(running.child):
            running.request.refuse("out_of_memory", self._end(running).line)
        elif running.slow:
            running.child.lower_priority()

    def _has_written_too_much(self, child: Child) -> bool:
        """It is stopped meanwhile: what it moved about could not be counted."""
        pid = child.process.pid
        if not self._scratch.is_used(pid):
            return False
        child.rest(True)
        until = time.monotonic() + STOPS
        while not set(states(pid)) <= {"T", "t", "Z"} and time.monotonic() < until:
            time.sleep(0.0005)
        is_too_full = self._scratch.is_too_full(pid)
        child.rest(False)
        return is_too_full

    def _send_positions(self) -> None:
        for position, request in enumerate(list(self._queue), start=1):
            if request.position != position:
                request.position = position
                frame = wire.make_frame(wire.WAIT, wire.dump(position))
                request.connection.send(frame)
