"""The app's side: a server started when it is first needed, and one connection per call.

`run`, `check`, `call` and those that submit use the app's one `Sandbox`.
"""

from __future__ import annotations

import atexit
import errno
import logging
import math
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from explorer.language import ProgramError, ProgramRefused
from explorer.sandbox import exit_reasons, protocol
from explorer.sandbox.ahead import start_server, take_started
from explorer.sandbox.answer_limits import OTHER_MEMORY, AnswerLimits, fits, limits_of
from explorer.sandbox.settings import Settings
from explorer.trace import Trace, from_plain
from explorer.trace.check import Check
from explorer.trace.running import validate_arguments
from explorer.trace.sampling import Samples
from explorer.trace.validation import validate

#: The time limit of a job in seconds, unless another is given.
TIMEOUT = 5.0
#: Seconds a server may take to start and to reply to a request.
START_TIMEOUT, REPLY_TIMEOUT = 60.0, 10.0
#: Seconds beyond a task's own limit in which its result must arrive, and that it may be queued.
EXTRA_TIME, QUEUE_TIMEOUT = 1.25, 60.0

#: Errors of `connect` when this process, or the machine, cannot have another connection.
_NO_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

OnWait = Callable[[int], None]
OnProgress = Callable[[Any], None]
T = TypeVar("T")


class WithData(NamedTuple):
    """The answer of a job that was allowed to send raw data, and the data."""

    answer: Any
    data: bytearray


class _ServerLost(Exception):
    """The server has ended or stopped replying."""


@dataclass(frozen=True)
class _Server:
    """A server process and its settings."""

    process: subprocess.Popen[bytes]
    settings: Settings

    def end(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.settings.directory, ignore_errors=True)

    def listens(self) -> bool:
        """Whether it can be connected to. Raises _ServerLost if it has ended before."""
        if not self.settings.address.exists():
            if self.process.poll() is not None:
                raise _ServerLost
            return False
        return True

    def connect(self) -> socket.socket | None:
        """A connection; None if too many wait to be accepted. Raises _ServerLost, or ProgramRefused
        if the cause is not the server."""
        try:
            return _connect(self.settings.address.read_text())
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno in _NO_RESOURCES:
                raise ProgramRefused(exit_reasons.queue_full()) from None
            raise _ServerLost from error


def _connect(address: str) -> socket.socket:
    """Connect to a port of this machine, or to the Unix socket at a path."""
    if address.isdigit():
        return socket.create_connection(("127.0.0.1", int(address)), timeout=REPLY_TIMEOUT)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(REPLY_TIMEOUT)
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


class Sandbox:
    """One server, which `submit` starts and uses. Safe to use from any number of threads.

    `options` are fields of `Settings`, such as `jobs` and `fork`.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._server: _Server | None = None
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
        with suppress(_ServerLost):
            return self._server is not None and self._server.listens()
        return False

    def submit(
        self,
        job: str,
        request: Any,
        *,
        timeout: float = TIMEOUT,
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
        limits = replace(limits_of(job), data=returns)
        header |= {"background": background, "limits": asdict(limits), "data": len(data)}
        body = _dump_request(request)
        return Call(self, header, body, read, on_progress, on_wait, limits, data)

    def call(self, job: str, request: Any, **options: Any) -> Any:
        """`submit`, and wait for the result. Raises ProgramRefused with an error for the reader."""
        return self.submit(job, request, **options).result()

    def server(self) -> _Server:
        """The running server, or a new one. Raises ProgramRefused if none can be started."""
        with self._lock:
            server = self._server
            if server is not None and server.process.poll() is not None:
                server.end()
                server = None
            self._server = server or self._start_server()
            return self._server

    def _start_server(self) -> _Server:
        """Start a new server. Raises ProgramRefused if the disk is full or no process is left."""
        try:
            started = None if self._options else take_started()
            return _Server(*(started or start_server(**self._options)))
        except OSError:
            logging.getLogger(__name__).exception("the sandbox's server cannot be started")
            raise ProgramRefused(exit_reasons.server_not_started()) from None

    def replace(self, server: _Server) -> None:
        """End this server; the next call starts another."""
        with self._lock:
            if self._server is server:
                self._server = None
                server.end()


class Call(Generic[T]):
    """A job that a child performs, or that waits for its turn.

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
        limits: AnswerLimits,
        data: bytes,
    ) -> None:
        self.position, self.done = 0, False
        self.started: float | None = None
        self._sandbox, self._header, self._body, self._read = sandbox, header, body, read
        self._on_progress, self._on_wait = on_progress, on_wait
        self._limits, self._data, self._received = limits, data, bytearray()
        self._server: _Server | None = None
        self._connection: socket.socket | None = None
        self._tries_left, self._has_progress, self._is_stopped = 2, False, False
        self._is_next = False  # whether the request was sent to a child that may have ended
        #: When the server must have said something more, and the error for the reader if it has
        #: not; without one, it is lost.
        self._limit = 0.0
        self._late: ProgramError | None = None
        self._answer: Any = None
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
        self._body = _dump_request(request)
        self.done, self.started, self.position = False, None, 0
        self._answer = self._error = self._late = None
        self._tries_left, self._has_progress, self._is_stopped = 2, False, False
        if self._connection is not None:
            self._limit, self._is_next = time.monotonic() + REPLY_TIMEOUT, True
            try:
                self._connection.settimeout(REPLY_TIMEOUT)
                self._connection.sendall(protocol.make_frame(protocol.NEXT, self._body))
            except OSError:
                self._disconnect()

    def stop(self) -> None:
        """Have the job end with what it has done so far. If the child does not notice soon, as
        inside a long operation, it is ended."""
        if self.done or self._is_stopped:
            return
        self._is_stopped = True
        if self._connection is None:
            self._end(error=exit_reasons.stopped_in_queue())
        else:
            with suppress(OSError):  # `wait` notices
                self._connection.sendall(protocol.make_frame(protocol.STOP))

    def cancel(self) -> None:
        """End the job, and a child that rests; an answer that is still to come is not needed."""
        if not self.done:
            self._end(error=exit_reasons.stopped_in_queue())
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
            raise ProgramRefused(self._error)
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
                patience = REPLY_TIMEOUT if listens else START_TIMEOUT
                self._limit, self._late = time.monotonic() + patience, None
            if self._connection is None:
                self._connect(self._server, until)
            else:
                self._handle(*read_message(self._receive(until), self._limits))
        except _ServerLost:
            assert self._server is not None
            self._disconnect()
            if self._is_next:  # only the child has ended, as far as is known
                self._is_next, self._limit = False, time.monotonic() + REPLY_TIMEOUT
                return
            self._sandbox.replace(self._server)
            self._server = None
            self._tries_left -= 1
            if self._has_progress:
                raise ProgramRefused(exit_reasons.server_lost()) from None
            if not self._tries_left:
                raise ProgramRefused(exit_reasons.server_not_started()) from None

    def _connect(self, server: _Server, until: float) -> None:
        """Connect and send the request, as soon as the server listens."""
        connection = server.connect() if server.listens() else None
        if connection is None:
            if time.monotonic() > self._limit:
                raise _ServerLost
            if time.monotonic() > until:
                raise TimeoutError
            time.sleep(0.02)
            return
        self._connection, self._frames = connection, protocol.FrameReader(connection)
        self._received = bytearray()
        header = protocol.dump(self._header | {"token": server.settings.token})
        frames = (protocol.HEADER, header), (protocol.REQUEST, self._body)
        try:
            connection.sendall(b"".join(protocol.make_frame(*frame) for frame in frames))
        except OSError as error:
            raise _ServerLost from error
        self._limit = time.monotonic() + REPLY_TIMEOUT

    def _receive(self, until: float) -> tuple[int, bytearray]:
        """The next frame. Raises TimeoutError at the moment `until`."""
        try:
            frame = self._frames.receive(min(until, self._limit))
        except TimeoutError:
            if time.monotonic() < self._limit:
                raise
            if self._late is not None:
                raise ProgramRefused(self._late) from None
            raise _ServerLost from None
        except OSError as error:
            raise _ServerLost from error
        except protocol.MessageTooLarge:
            raise ProgramRefused(exit_reasons.unreadable_answer()) from None
        if frame is None:
            raise _ServerLost
        return frame

    def _send_data(self) -> None:
        """Send the child the file. Raises _ServerLost if the server takes no more of it."""
        assert self._connection is not None
        try:
            self._connection.settimeout(REPLY_TIMEOUT)
            for frame in protocol.data_frames(self._data):
                self._connection.sendall(frame)
        except TimeoutError:
            raise _ServerLost from None
        except OSError:
            pass  # it has closed the connection, after an error that can still be read

    def _handle(self, kind: int, message: Any) -> None:
        if kind == protocol.WAIT:
            if self._late is None:
                self._limit = time.monotonic() + QUEUE_TIMEOUT
                self._late = exit_reasons.queue_full()
            self.position = message
            if self._on_wait is not None:
                self._on_wait(message)
        elif kind == protocol.STARTED:
            self.position, self.started, self._is_next = 0, time.monotonic(), False
            self._limit = self.started + self._header["timeout"] + EXTRA_TIME
            self._late = exit_reasons.out_of_time(self._header["timeout"], None)
            self._send_data()
        elif kind == protocol.PROGRESS:
            self._has_progress = True
            if self._on_progress is not None:
                self._on_progress(message)
        elif kind == protocol.DATA:
            if len(self._received) + len(message) > self._limits.data:
                raise ProgramRefused(exit_reasons.unreadable_answer())
            self._received += message
        elif kind == protocol.ANSWER:
            has_data = self._limits.data > 0
            self._end(answer=WithData(message, self._received) if has_data else message)
        elif kind == protocol.FAILED:
            reason, *details = message
            self._end(error=exit_reasons.BY_REASON[reason](*details))
        else:
            self._end(error=parse_answer(ProgramError, message))


def _dump_request(request: Any) -> bytes:
    """The JSON of a request. Raises ProgramRefused if it is too large."""
    body = protocol.dump(request)
    try:
        protocol.check_size(len(body))
    except protocol.MessageTooLarge as error:
        raise ProgramRefused(exit_reasons.request_too_large(str(error))) from None
    return body


def read_message(frame: tuple[int, bytearray], limits: AnswerLimits) -> tuple[int, Any]:
    """The kind of a frame and its message; of raw data, the bytes. Raises ProgramRefused if it is
    not within `limits`."""
    kind, body = frame
    del frame
    if kind == protocol.DATA:
        return kind, body
    try:
        if not fits(body, limits.memory if kind == protocol.ANSWER else OTHER_MEMORY):
            raise ProgramRefused(exit_reasons.answer_too_large())
        text = body.decode("ascii")
        del body  # as large as the text, which the parser needs to its end
        return kind, protocol.load(text, with_bytes=limits.with_bytes)
    except protocol.InvalidMessage:
        raise ProgramRefused(exit_reasons.unreadable_answer()) from None


def parse_answer(kind: type[T], plain: Any) -> T:
    """`from_plain` for an answer. Raises ProgramRefused for any invalid one: a program that has
    escaped from the language can answer anything."""
    try:
        return validate(from_plain(kind, plain))
    except Exception:
        raise ProgramRefused(exit_reasons.unreadable_answer()) from None


def _thread_name() -> str:
    return f"{os.getpid()}-{threading.get_ident()}"


_sandbox = Sandbox()
call = _sandbox.call
submit = _sandbox.submit
start = _sandbox.start
is_ready = _sandbox.is_ready


def run(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    capture: str = "hook",
    upstream: Any = None,
    iteration: int | None = None,
    timeout: float = TIMEOUT,
    on_wait: OnWait | None = None,
    reader: str | None = None,
    sandbox: Sandbox = _sandbox,
) -> Trace:
    """`explorer.run` in a child, which may run for `timeout` seconds.

    Never raises for the program: if its child died, the Trace holds the source and the error.
    Raises ValueError where `explorer.run` does.
    `on_wait` and `reader` are those of `Sandbox.submit`.
    """
    settings = validate_arguments(seed, capture, upstream, iteration, inputs)
    options = {"timeout": timeout, "on_wait": on_wait, "reader": reader}
    request = {"source": source, **settings}
    return to_trace(source, settings, lambda: sandbox.call("run", request, **options))


def submit_run(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    capture: str = "hook",
    upstream: Any = None,
    iteration: int | None = None,
    **options: Any,
) -> Call[Trace]:
    """The same without waiting; `options` are those of `Sandbox.submit`."""
    settings = validate_arguments(seed, capture, upstream, iteration, inputs)
    request = {"source": source, **settings}
    return submit("run", request, read=partial(to_trace, source, settings), **options)


def check(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    upstream: Any = None,
    timeout: float = TIMEOUT,
    on_wait: OnWait | None = None,
    reader: str | None = None,
    sandbox: Sandbox = _sandbox,
) -> Check:
    """`explorer.trace.check.check` in a child, which may run for `timeout` seconds.

    Raises ProgramRefused with an error for the reader. `on_wait` and `reader` are those of
    `Sandbox.submit`.
    """
    request = _check_request(source, inputs, seed, upstream)
    options = {"timeout": timeout, "on_wait": on_wait, "reader": reader}
    return parse_answer(Check, sandbox.call("check", request, **options))


def submit_check(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    upstream: Any = None,
    **options: Any,
) -> Call[Check]:
    """The same without waiting; `options` are those of `Sandbox.submit`."""
    request = _check_request(source, inputs, seed, upstream)
    return submit("check", request, read=lambda get: parse_answer(Check, get()), **options)


def submit_sample(
    source: str,
    *,
    names: Sequence[str],
    ranges: Sequence[Sequence[float]],
    result: str,
    seed: int = 0,
    **options: Any,
) -> Call[Samples]:
    """`explorer.trace.sampling.sample` in a child; `options` are those of `Sandbox.submit`."""
    leaves = {"names": list(names), "ranges": [list(ends) for ends in ranges]}
    request: dict[str, Any] = {"source": source, "result": result, "seed": seed, **leaves}
    return submit("sample", request, read=lambda get: parse_answer(Samples, get()), **options)


def _check_request(
    source: str, inputs: Mapping[str, Any] | None, seed: int, upstream: Any
) -> dict[str, Any]:
    settings = validate_arguments(seed, "hook", upstream, inputs=inputs)
    return {"source": source} | {name: settings[name] for name in ("inputs", "seed", "upstream")}


def to_trace(source: str, settings: dict[str, Any], get: Callable[[], Any]) -> Trace:
    """The Trace in the answer; one with the error if there is none."""
    try:
        return read_trace(source, get)
    except ProgramRefused as refused:
        error = refused.error
    return Trace(source, seed=settings["seed"], capture=settings["capture"], error=error)


def read_trace(source: str, get: Callable[[], Any]) -> Trace:
    """The Trace in the answer. Raises ProgramRefused if there is none."""
    try:
        return replace(parse_answer(Trace, get()), source=source)
    except ProgramRefused as refused:
        raise ProgramRefused(_with_text(refused.error, source)) from None


def _with_text(error: ProgramError, source: str) -> ProgramError:
    """The error with the text of its line."""
    lines = source.splitlines()
    if error.text or error.line is None or not 0 < error.line <= len(lines):
        return error
    return replace(error, text=lines[error.line - 1][:1000])
