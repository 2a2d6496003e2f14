"""The app's side: a server started when it is first needed, and one connection per call.

`run`, `check` and `call` use the app's one `Sandbox`.
"""

from __future__ import annotations

import atexit
import errno
import logging
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from explorer.language import ProgramError, ProgramRefused
from explorer.sandbox import exit_reasons, protocol
from explorer.sandbox.answer_limits import OTHER_MEMORY, AnswerLimits, fits, limits_of
from explorer.sandbox.settings import Settings, start_process
from explorer.trace import Trace, from_plain, to_plain
from explorer.trace.check import Check
from explorer.trace.running import validate_arguments
from explorer.trace.validation import validate

#: Seconds a server may take to start and to reply to a request.
START_TIMEOUT, REPLY_TIMEOUT = 60.0, 10.0
#: Seconds beyond a task's own limit in which its result must arrive, and that it may be queued.
EXTRA_TIME, QUEUE_TIMEOUT = 1.25, 60.0

#: Errors of `connect` when this process, or the machine, cannot have another connection.
_NO_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

OnWait = Callable[[int], None]
OnProgress = Callable[[Any], None]
T = TypeVar("T")


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

    def connect(self) -> socket.socket:
        """Connect as soon as the server listens. Raises _ServerLost, or ProgramRefused if the cause
        is not the server."""
        limit = time.monotonic() + START_TIMEOUT
        while not self.settings.address.exists():
            if self.process.poll() is not None or time.monotonic() > limit:
                raise _ServerLost
            time.sleep(0.02)
        limit = time.monotonic() + REPLY_TIMEOUT
        while True:
            try:
                return _connect(self.settings.address.read_text())
            except BlockingIOError as error:  # its backlog of connections is full
                if time.monotonic() > limit:
                    raise _ServerLost from error
                time.sleep(0.02)
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
    """One server, which `call` starts and uses. Safe to use from any number of threads.

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
            self._ensure()

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

    def call(
        self,
        job: str,
        request: Any,
        *,
        timeout: float = 5.0,
        on_progress: OnProgress | None = None,
        on_wait: OnWait | None = None,
        reader: str | None = None,
    ) -> Any:
        """Perform `job` in a child and return its plain answer.

        `timeout` is in seconds, counted from when the child starts. `on_wait` receives the position
        in the queue, from 1, each time it changes; `on_progress` each progress message. Any
        exception from either cancels the job and is raised again here. Jobs of one `reader` (by
        default, of one thread) wait for each other, not for other readers' jobs.

        Raises ProgramRefused with an error for the reader: the job's own, or why it has no answer.
        """
        try:
            header = {"job": job, "timeout": timeout, "reader": reader or _thread_name()}
            header["limits"] = to_plain(limits_of(job))
            body = protocol.make_frame(protocol.REQUEST, protocol.dump(request))
        except protocol.MessageTooLarge as error:
            raise ProgramRefused(exit_reasons.request_too_large(str(error))) from None
        has_progress = False

        def report(message: Any) -> None:
            nonlocal has_progress
            has_progress = True
            if on_progress is not None:
                on_progress(message)

        for _ in range(2):  # a job has no side effects, so it may be repeated on a new server
            server = self._ensure()
            try:
                return self._request(server, header, body, report, on_wait)
            except _ServerLost:
                self._replace(server)
                if has_progress:
                    raise ProgramRefused(exit_reasons.server_lost()) from None
        raise ProgramRefused(exit_reasons.server_not_started())

    def _ensure(self) -> _Server:
        with self._lock:
            server = self._server
            if server is not None and server.process.poll() is not None:
                server.end()
                server = None
            self._server = server or self._start_server()
            return self._server

    def _start_server(self) -> _Server:
        """Start a new server. Raises ProgramRefused if the disk is full or no process is left."""
        directory = ""
        try:
            directory = tempfile.mkdtemp(prefix="explorer-")  # with mode 0700
            settings = Settings(directory, secrets.token_hex(16), **self._options)
            Path(settings.empty_directory).mkdir()
            return _Server(start_process(settings), settings)
        except OSError:
            logging.getLogger(__name__).exception("the sandbox's server cannot be started")
            shutil.rmtree(directory, ignore_errors=True)
            raise ProgramRefused(exit_reasons.server_not_started()) from None

    def _replace(self, server: _Server) -> None:
        with self._lock:
            if self._server is server:
                self._server = None
                server.end()

    def _request(
        self,
        server: _Server,
        header: dict[str, Any],
        body: bytes,
        on_progress: OnProgress,
        on_wait: OnWait | None,
    ) -> Any:
        with closing(server.connect()) as connection:
            full_header = protocol.dump(header | {"token": server.settings.token})
            try:
                connection.sendall(protocol.make_frame(protocol.HEADER, full_header) + body)
            except OSError as error:
                raise _ServerLost from error
            until = time.monotonic() + REPLY_TIMEOUT
            limits, late = limits_of(header["job"]), None
            while True:
                kind, message = _receive(connection, until, late, limits)
                if kind == protocol.WAIT:
                    if late is None:
                        until, late = time.monotonic() + QUEUE_TIMEOUT, exit_reasons.queue_full()
                    if on_wait is not None:
                        on_wait(message)
                elif kind == protocol.STARTED:
                    until = time.monotonic() + header["timeout"] + EXTRA_TIME
                    late = exit_reasons.out_of_time(header["timeout"], None)
                elif kind == protocol.PROGRESS:
                    on_progress(message)
                elif kind == protocol.ANSWER:
                    return message
                else:
                    raise ProgramRefused(parse_answer(ProgramError, message))


def parse_answer(kind: type[T], plain: Any) -> T:
    """`from_plain` for an answer. Raises ProgramRefused for any invalid one: a program that has
    escaped from the language can answer anything."""
    try:
        return validate(from_plain(kind, plain))
    except Exception:
        raise ProgramRefused(exit_reasons.unreadable_answer()) from None


def _receive(
    connection: socket.socket, until: float, late: ProgramError | None, limits: AnswerLimits
) -> tuple[int, Any]:
    """The next message and its kind, within `limits`. What has not arrived at the moment `until` is
    `late`: an error for the reader, or None if the server must be lost."""
    try:
        frame = protocol.receive_frame(connection, until)
        if frame is None:
            raise _ServerLost
        kind, body = frame
        if not fits(body, limits.memory if kind == protocol.ANSWER else OTHER_MEMORY):
            raise ProgramRefused(exit_reasons.answer_too_large())
        text = body.decode("ascii")
        del frame, body  # as large as the text, which the parser needs to its end
        return kind, protocol.load(text, with_bytes=limits.with_bytes)
    except TimeoutError as error:
        if late is not None:
            raise ProgramRefused(late) from None
        raise _ServerLost from error
    except OSError as error:
        raise _ServerLost from error
    except (protocol.MessageTooLarge, protocol.InvalidMessage):
        raise ProgramRefused(exit_reasons.unreadable_answer()) from None


def _thread_name() -> str:
    return f"{os.getpid()}-{threading.get_ident()}"


_sandbox = Sandbox()
call = _sandbox.call
start = _sandbox.start


def run(
    source: str,
    *,
    seed: int = 0,
    capture: str = "hook",
    upstream: Any = None,
    iteration: int | None = None,
    timeout: float = 5.0,
    on_wait: OnWait | None = None,
    reader: str | None = None,
    sandbox: Sandbox = _sandbox,
) -> Trace:
    """`explorer.run` in a child, which may run for `timeout` seconds.

    Never raises for the program: if its child died, the Trace holds the source and the error.
    Raises ValueError where `explorer.run` does.
    `on_wait` and `reader` are those of `Sandbox.call`.
    """
    request = {"source": source, **validate_arguments(seed, capture, upstream, iteration)}
    try:
        answer = sandbox.call("run", request, timeout=timeout, on_wait=on_wait, reader=reader)
        return replace(parse_answer(Trace, answer), source=source)
    except ProgramRefused as refused:
        error = refused.error
    return Trace(source, seed=seed, capture=capture, error=_with_text(error, source))


def check(
    source: str,
    *,
    seed: int = 0,
    upstream: Any = None,
    timeout: float = 5.0,
    on_wait: OnWait | None = None,
    reader: str | None = None,
    sandbox: Sandbox = _sandbox,
) -> Check:
    """`explorer.trace.check.check` in a child, which may run for `timeout` seconds.

    Raises ProgramRefused with an error for the reader. `on_wait` and `reader` are those of
    `Sandbox.call`.
    """
    options = validate_arguments(seed, "hook", upstream)
    request = {"source": source, "seed": options["seed"], "upstream": options["upstream"]}
    answer = sandbox.call("check", request, timeout=timeout, on_wait=on_wait, reader=reader)
    return parse_answer(Check, answer)


def _with_text(error: ProgramError, source: str) -> ProgramError:
    """The error with the text of its line."""
    lines = source.splitlines()
    if error.text or error.line is None or not 0 < error.line <= len(lines):
        return error
    return replace(error, text=lines[error.line - 1][:1000])
