"""The app's side: a server that is started when it is first needed, and one connection per call.

`call` and those that submit use the app's one `Sandbox`.
"""

from __future__ import annotations

import atexit
import errno
import logging
import math
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from explorer import limits
from explorer.program import ProgramError, ProgramRefused
from explorer.sandbox import bubblewrap, exit_reasons, wire
from explorer.sandbox.messages import AnswerLimits, fits, limits_of
from explorer.sandbox.options import ServerOptions, start_server, take_started
from explorer.sandbox.scratch import remove_at_last
from explorer.trace import from_plain
from explorer.trace.validation import validate

#: Errors of `connect` when this process, or the machine, cannot have another connection.
_NO_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

OnWait = Callable[[int], None]
OnProgress = Callable[[Any], None]
T = TypeVar("T")


class Sandbox:
    """One server, which `submit` starts and uses. Safe to use from any number of threads.

    `options` are fields of `ServerOptions`, such as `jobs` and `fork`.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._server: Server | None = None
        atexit.register(self.stop)

    def start(self) -> None:
        """Start the server if it is not running, without waiting until it is ready. If that fails,
        the first call reports it."""
        with suppress(ProgramRefused):
            self.server()

    def stop(self) -> None:
        """End the server and all its children; the next call starts another."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.end()

    @property
    def pid(self) -> int | None:
        """The process id of the server, if there is one."""
        return self._server.process.pid if self._server else None

    def is_ready(self) -> bool:
        """Whether the server has started and takes calls."""
        with suppress(ServerLost):
            return self._server is not None and self._server.listens()
        return False

    def submit(
        self,
        job: str,
        request: Any,
        *,
        timeout: float = limits.JOB_SECONDS,
        on_progress: OnProgress | None = None,
        on_wait: OnWait | None = None,
        reader: str | None = None,
        read: Callable[[Callable[[], Any]], Any] = lambda answer: answer(),
        live: bool = False,
        background: bool = False,
        data: bytes = b"",
        returns: int = 0,
    ) -> Call[Any]:
        """Have a child perform `job`; its plain answer is the call's result, unless `read` makes
        another of it: it is called with a function that returns the answer or raises
        ProgramRefused.

        `timeout` is in seconds, counted from when the child starts. `on_wait` receives the position
        in the queue, from 1, each time it changes; `on_progress` each progress message. Both are
        called by `Call.wait`; any exception from either cancels the job and is raised again there.
        Jobs of one `reader` (by default, of one thread) wait for each other, not for other readers'
        jobs. The child of a `live` call stays for a moment after its answer; see `Call.again`. A
        job in the `background` starts after all others and runs at the lowest priority. `data` is a
        file, which the child gets as raw bytes. It may send `returns` raw bytes itself; then the
        plain answer is a `WithData`.

        Raises ProgramRefused for a request that is too large.
        """
        header = {"job": job, "timeout": timeout, "reader": reader or _thread_name(), "live": live}
        allowed = replace(limits_of(job), data=returns)
        header |= {"background": background, "limits": asdict(allowed), "data": len(data)}
        body = dump_request(request)
        return Call(self, header, body, read, on_progress, on_wait, allowed, data)

    def call(self, job: str, request: Any, **options: Any) -> Any:
        """`submit`, and wait for the result. Raises ProgramRefused with an error for the reader."""
        return self.submit(job, request, **options).result()

    def server(self) -> Server:
        """The running server, or a new one. Raises ProgramRefused if none can be started."""
        with self._lock:
            server = self._server
            if server is not None and server.process.poll() is not None:
                self._end(server)
            if self._server is None:
                self._server = self._start_server()
            return self._server

    def _start_server(self) -> Server:
        """Start a new server. Raises ProgramRefused if the disk is full or no process is left."""
        try:
            started = None if self._options else take_started()
            return Server(*(started or start_server(**self._options)))
        except OSError:
            logging.getLogger(__name__).exception("the sandbox's server cannot be started")
            raise exit_reasons.refused("server_not_started") from None

    def replace(self, server: Server) -> None:
        """End this server; the next call starts another."""
        with self._lock:
            if self._server is server:
                self._end(server)

    def _end(self, server: Server) -> None:
        self._server = None
        if server.options.bubblewrap and not server.has_listened():
            bubblewrap.give_up()
        server.end()


def _thread_name() -> str:
    return f"{os.getpid()}-{threading.get_ident()}"


class ServerLost(Exception):
    """The server has ended or stopped replying."""


@dataclass(frozen=True)
class Server:
    """A server process and its options."""

    process: subprocess.Popen[bytes]
    options: ServerOptions

    def end(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        remove_at_last(self.options.directory)

    def listens(self) -> bool:
        """Whether it can be connected to. Raises ServerLost if it has ended before."""
        if not self.has_listened():
            if self.process.poll() is not None:
                raise ServerLost
            return False
        if self.options.bubblewrap:
            bubblewrap.confirm()
        return True

    def has_listened(self) -> bool:
        return self.options.address.exists()

    def connect(self) -> socket.socket | None:
        """A connection; None if too many wait to be accepted. Raises ServerLost, or ProgramRefused
        if the cause is not the server."""
        try:
            return _connect(self.options.address.read_text())
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno in _NO_RESOURCES:
                raise exit_reasons.refused("queue_full") from None
            raise ServerLost from error


def _connect(address: str) -> socket.socket:
    """Connect to a port of this machine, or to the Unix socket at a path."""
    if address.isdigit():
        return socket.create_connection(("127.0.0.1", int(address)), timeout=limits.REPLY_SECONDS)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(limits.REPLY_SECONDS)
        with wire.short_path(address) as path:
            connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


class WithData(NamedTuple):
    """The answer of a job that was allowed to send raw data, and the data."""

    answer: Any
    data: bytearray


class Unanswered(ProgramRefused):
    """A job that has no answer."""

    def __init__(self, error: ProgramError, part: bytearray | None, allowed: AnswerLimits) -> None:
        super().__init__(error)
        self._part, self._allowed = part, allowed

    def part(self) -> Any:
        """What the job had sent of an answer; None if nothing. Raises ProgramRefused."""
        if self._part is None:
            return None
        return read_message((wire.ANSWER, self._part), self._allowed)[1]


class Call(Generic[T]):
    """A job that a child performs, or that waits in the queue.

    Nothing happens in the background: `wait` reads what the server has sent. A call that nobody
    holds any more is cancelled. `position` is that in the queue, from 1; 0 before it is known and
    once the job has `started`, at that moment of `time.monotonic`.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        header: dict[str, Any],
        body: bytes,
        read: Callable[[Callable[[], Any]], T],
        on_progress: OnProgress | None,
        on_wait: OnWait | None,
        allowed: AnswerLimits,
        data: bytes,
    ) -> None:
        self.position, self.done = 0, False
        self.started: float | None = None
        self._sandbox, self._header, self._body, self._read = sandbox, header, body, read
        self._on_progress, self._on_wait = on_progress, on_wait
        self._allowed, self._data, self._received = allowed, data, bytearray()
        self._server: Server | None = None
        self._connection: socket.socket | None = None
        self._tries_left, self._has_progress, self._is_stopped = 2, False, False
        self._is_next = False  # whether the request was sent to a child that may have ended
        #: When the server must have said something more, and the error for the reader if it has
        #: not; without one, it is lost.
        self._limit = 0.0
        self._late: ProgramError | None = None
        self._answer: Any = None
        self._part: bytearray | None = None
        self._error: ProgramError | None = None

    def wait(self, seconds: float = math.inf) -> bool:
        """Wait until the job is done, for at most so many seconds; whether it is."""
        until = time.monotonic() + seconds
        try:
            while not self.done:
                self._advance(until)
        except TimeoutError:
            pass
        except ProgramRefused as refused:
            self._end(error=refused.error)
        except BaseException:  # from `on_wait` or `on_progress`
            self.cancel()
            raise
        return self.done

    def result(self) -> T:
        """Wait for the answer. Raises ProgramRefused with an error for the reader: the job's own,
        or why it has no answer."""
        while not self.wait():
            pass
        return self._read(self._plain_answer)

    def again(self, request: Any) -> None:
        """Ask once more, once a live call is done: the same child if it still rests, or a new one.
        Raises ProgramRefused for a request that is too large."""
        self._body = dump_request(request)
        self.done, self.started, self.position = False, None, 0
        self._answer = self._error = self._late = self._part = None
        self._tries_left, self._has_progress, self._is_stopped = 2, False, False
        if self._connection is not None:
            self._limit, self._is_next = time.monotonic() + limits.REPLY_SECONDS, True
            try:
                self._connection.settimeout(limits.REPLY_SECONDS)
                self._connection.sendall(wire.make_frame(wire.NEXT, self._body))
            except OSError:
                self._disconnect()

    def stop(self) -> None:
        """Have the job end with what it has done so far. If the child does not notice soon, as
        inside a long operation, it is ended."""
        if self.done or self._is_stopped:
            return
        self._is_stopped = True
        if self._connection is None:
            self._end(error=exit_reasons.explain("stopped_in_queue"))
        else:
            with suppress(OSError):  # `wait` notices
                self._connection.sendall(wire.make_frame(wire.STOP))

    def cancel(self) -> None:
        """End the job, and a child that rests; an answer that is still to come is not needed."""
        if not self.done:
            self._end(error=exit_reasons.explain("stopped_in_queue"))
        self._disconnect()

    def __del__(self) -> None:
        self._disconnect()

    @property
    def connected(self) -> bool:
        """Whether there is a connection: after the answer, to a live child that rests, unless it
        has ended."""
        return self._connection is not None

    def _plain_answer(self) -> Any:
        if self._error is not None:
            raise Unanswered(self._error, self._part, self._allowed)
        return self._answer

    def _end(self, answer: Any = None, error: ProgramError | None = None) -> None:
        self.done, self._answer, self._error = True, answer, error
        if error is not None or not self._header["live"]:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _advance(self, until: float) -> None:
        """Do what comes next. Raises TimeoutError at the moment `until`."""
        try:
            if self._server is None:
                self._server = self._sandbox.server()
                listens = self._server.listens()
                patience = limits.REPLY_SECONDS if listens else limits.START_SECONDS
                self._limit, self._late = time.monotonic() + patience, None
            if self._connection is None:
                self._connect(self._server, until)
            else:
                self._handle(*read_message(self._receive(until), self._allowed))
        except ServerLost:
            assert self._server is not None
            self._disconnect()
            if self._is_next:  # only the child has ended, as far as is known
                self._is_next, self._limit = False, time.monotonic() + limits.REPLY_SECONDS
                return
            self._sandbox.replace(self._server)
            self._server = None
            self._tries_left -= 1
            if self._has_progress:
                raise exit_reasons.refused("server_lost") from None
            if not self._tries_left:
                raise exit_reasons.refused("server_not_started") from None

    def _connect(self, server: Server, until: float) -> None:
        """Connect and send the request, as soon as the server listens."""
        connection = server.connect() if server.listens() else None
        if connection is None:
            if time.monotonic() > self._limit:
                raise ServerLost
            if time.monotonic() > until:
                raise TimeoutError
            time.sleep(0.02)
            return
        self._connection, self._frames = connection, wire.FrameReader(connection)
        self._received = bytearray()
        header = wire.dump(self._header | {"token": server.options.token})
        frames = (wire.HEADER, header), (wire.REQUEST, self._body)
        try:
            connection.sendall(b"".join(wire.make_frame(*frame) for frame in frames))
        except OSError as error:
            raise ServerLost from error
        self._limit = time.monotonic() + limits.REPLY_SECONDS

    def _receive(self, until: float) -> tuple[int, bytearray]:
        """The next frame. Raises TimeoutError at the moment `until`."""
        try:
            frame = self._frames.receive(min(until, self._limit))
        except TimeoutError:
            if time.monotonic() < self._limit:
                raise
            if self._late is not None:
                raise ProgramRefused(self._late) from None
            raise ServerLost from None
        except OSError as error:
            raise ServerLost from error
        except wire.MessageTooLarge:
            raise exit_reasons.refused("unreadable_answer") from None
        if frame is None:
            raise ServerLost
        return frame

    def _send_data(self) -> None:
        """Send the child the file. Raises ServerLost if the server takes no more of it."""
        assert self._connection is not None
        try:
            self._connection.settimeout(limits.REPLY_SECONDS)
            for frame in wire.data_frames(self._data):
                self._connection.sendall(frame)
        except TimeoutError:
            raise ServerLost from None
        except OSError:
            pass  # it has closed the connection, after an error that can still be read

    def _handle(self, kind: int, message: Any) -> None:
        if kind == wire.WAIT:
            if self._late is None:
                self._limit = time.monotonic() + limits.QUEUE_SECONDS
                self._late = exit_reasons.explain("queue_full")
            self.position = message
            if self._on_wait is not None:
                self._on_wait(message)
        elif kind == wire.STARTED:
            self.position, self.started, self._is_next = 0, time.monotonic(), False
            self._limit = self.started + self._header["timeout"] + limits.ANSWER_DELAY
            self._late = exit_reasons.explain("out_of_time", timeout=self._header["timeout"])
            self._send_data()
        elif kind == wire.PROGRESS:
            self._has_progress = True
            if self._on_progress is not None:
                self._on_progress(message)
        elif kind == wire.PART:
            self._has_progress, self._part = True, message
        elif kind == wire.DATA:
            if len(self._received) + len(message) > self._allowed.data:
                raise exit_reasons.refused("unreadable_answer")
            self._received += message
        elif kind == wire.ANSWER:
            has_data = self._allowed.data > 0
            self._end(answer=WithData(message, self._received) if has_data else message)
        elif kind == wire.FAILED:
            is_exit = "status" in message
            explain = exit_reasons.explain_exit if is_exit else exit_reasons.explain
            self._end(error=explain(**message))
        else:
            self._end(error=parse_answer(ProgramError, message))


def dump_request(request: Any) -> bytes:
    """The JSON of a request. Raises ProgramRefused if it is too large."""
    body = wire.dump(request)
    try:
        wire.check_size(len(body))
    except wire.MessageTooLarge as error:
        raise exit_reasons.refused("request_too_large", detail=str(error)) from None
    return body


def read_message(frame: tuple[int, bytearray], allowed: AnswerLimits) -> tuple[int, Any]:
    """The kind of a frame and its message; of raw data and a part, the bytes. Raises ProgramRefused
    if it is not what is `allowed`."""
    kind, body = frame
    del frame
    if kind in (wire.DATA, wire.PART):
        return kind, body
    try:
        if not fits(body, allowed.memory if kind == wire.ANSWER else limits.ERROR_MEMORY):
            raise exit_reasons.refused("answer_too_large")
        text = body.decode("ascii")
        del body  # as large as the text, which the parser needs to its end
        return kind, wire.load(text, with_bytes=allowed.with_bytes)
    except wire.InvalidMessage:
        raise exit_reasons.refused("unreadable_answer") from None


def parse_answer(kind: type[T], plain: Any) -> T:
    """`from_plain` for an answer. Raises ProgramRefused for any invalid one: a child can
    answer anything."""
    try:
        return validate(from_plain(kind, plain))
    except Exception:
        raise exit_reasons.refused("unreadable_answer") from None


app_sandbox = Sandbox()
call = app_sandbox.call
submit = app_sandbox.submit
start = app_sandbox.start
is_ready = app_sandbox.is_ready
