"""The app's side: a server started when first needed, and one connection per call."""

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from explorer.language import ProgramError, ProgramRefused
from explorer.sandbox import exit_reasons, wire
from explorer.sandbox.start import Settings, start
from explorer.trace import from_plain

#: Seconds a server may take to start, to take notice of a request, and to be late with the end
#: of one; and seconds a job may wait for its turn.
STARTING, NOTICING, LATE, WAITING = 60.0, 10.0, 3.0, 60.0

#: What a connection fails with where this process, or the machine, has no room for one more.
_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

OnWait = Callable[[int], None]
OnProgress = Callable[[Any], None]
T = TypeVar("T")


class _Gone(Exception):
    """The server ended or stopped answering."""


@dataclass(frozen=True)
class _Running:
    """A server process and what belongs to it."""

    process: subprocess.Popen[bytes]
    settings: Settings

    def end(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.settings.directory, ignore_errors=True)

    def connect(self) -> socket.socket:
        """A connection, made as soon as the server listens. Raises _Gone, and ProgramRefused
        where the fault is not the server's."""
        limit = time.monotonic() + STARTING
        while not self.settings.address.exists():
            if self.process.poll() is not None or time.monotonic() > limit:
                raise _Gone
            time.sleep(0.02)
        limit = time.monotonic() + NOTICING
        while True:
            try:
                return _connected(self.settings.address.read_text())
            except BlockingIOError as error:  # others are at its door, and it is busy
                if time.monotonic() > limit:
                    raise _Gone from error
                time.sleep(0.02)
            except OSError as error:
                if error.errno in _NO_ROOM:
                    raise ProgramRefused(exit_reasons.crowded()) from None
                raise _Gone from error


def _connected(where: str) -> socket.socket:
    """A connection to a port of this machine, or to the socket at a path."""
    if where.isdigit():
        return socket.create_connection(("127.0.0.1", int(where)), timeout=NOTICING)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(NOTICING)
        connection.connect(where)
    except OSError:
        connection.close()
        raise
    return connection


class Sandbox:
    """One server and the way to ask it. Safe to use from any number of threads.

    `options` are those of `Settings`: the table of jobs, and whether to fork.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._server: _Running | None = None
        atexit.register(self.stop)

    def start(self) -> None:
        """Start the server if it does not run, without waiting until it is ready. Where it cannot
        be started, the first call says so."""
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
        """The server's process, if there is one."""
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
        """Do `job` in a child and return its plain answer.

        `timeout` is in seconds and counts from when the child starts. `on_wait` is given the
        position in the line, from 1, each time it changes; `on_progress` what the job reports.
        An exception from either, whatever its type, cancels the job and is passed on. Jobs of
        one `reader` (by default, of one thread) wait for each other, not for other readers'.

        Raises ProgramRefused with a sentence for the reader: the job's own, or what became of
        the child.
        """
        try:
            hello = {"job": job, "timeout": timeout, "reader": reader or _this_thread()}
            body = wire.pack(wire.REQUEST, wire.dump(request))
        except wire.TooLarge as error:
            raise ProgramRefused(exit_reasons.request_too_large(str(error))) from None
        reported = False

        def report(message: Any) -> None:
            nonlocal reported
            reported = True
            if on_progress is not None:
                on_progress(message)

        for _ in range(2):  # a job has no effects, so it may be asked again of a new server
            server = self._ensure()
            try:
                return self._ask(server, hello, body, timeout, report, on_wait)
            except _Gone:
                self._replace(server)
                if reported:
                    raise ProgramRefused(exit_reasons.lost_server()) from None
        raise ProgramRefused(exit_reasons.no_server())

    def _ensure(self) -> _Running:
        with self._lock:
            server = self._server
            if server is not None and server.process.poll() is not None:
                server.end()
                server = None
            self._server = server or self._started()
            return self._server

    def _started(self) -> _Running:
        """A new server. Raises ProgramRefused where the disk or the system has no room for it."""
        directory = ""
        try:
            directory = tempfile.mkdtemp(prefix="explorer-")  # of mode 0700
            settings = Settings(directory, secrets.token_hex(16), **self._options)
            Path(settings.nowhere).mkdir()
            return _Running(start(settings), settings)
        except OSError:
            logging.getLogger(__name__).exception("the sandbox's server cannot be started")
            shutil.rmtree(directory, ignore_errors=True)
            raise ProgramRefused(exit_reasons.no_server()) from None

    def _replace(self, server: _Running) -> None:
        with self._lock:
            if self._server is server:
                self._server = None
                server.end()

    def _ask(
        self,
        server: _Running,
        hello: dict[str, Any],
        body: bytes,
        timeout: float,
        on_progress: OnProgress,
        on_wait: OnWait | None,
    ) -> Any:
        with closing(server.connect()) as connection:
            greeting = wire.dump(hello | {"token": server.settings.token})
            try:
                connection.sendall(wire.pack(wire.HELLO, greeting) + body)
            except OSError as error:
                raise _Gone from error
            limit = time.monotonic() + NOTICING
            waiting = False
            while True:
                kind, message = _receive(connection, limit, waiting)
                if kind == wire.WAIT:
                    if not waiting:
                        limit, waiting = time.monotonic() + WAITING, True
                    if on_wait is not None:
                        on_wait(message)
                elif kind == wire.STARTED:
                    limit, waiting = time.monotonic() + timeout + LATE, False
                elif kind == wire.PROGRESS:
                    on_progress(message)
                elif kind == wire.ANSWER:
                    return message
                else:
                    raise ProgramRefused(rebuilt(ProgramError, message))


def rebuilt(kind: type[T], plain: Any) -> T:
    """What `from_plain` makes of an answer. Raises ProgramRefused if it makes nothing of it: a
    program that has broken out of the language may answer anything."""
    try:
        return from_plain(kind, plain)
    except Exception:
        raise ProgramRefused(exit_reasons.unreadable_answer()) from None


def _receive(connection: socket.socket, limit: float, waiting: bool) -> tuple[int, Any]:
    connection.settimeout(max(0.001, limit - time.monotonic()))
    try:
        frame = wire.receive(connection)
        if frame is None:
            raise _Gone
        return frame[0], wire.load(frame[1])
    except TimeoutError as error:
        if waiting:
            raise ProgramRefused(exit_reasons.crowded()) from None
        raise _Gone from error
    except OSError as error:
        raise _Gone from error
    except (wire.TooLarge, wire.Unreadable):
        raise ProgramRefused(exit_reasons.unreadable_answer()) from None


def _this_thread() -> str:
    return f"{os.getpid()}-{threading.get_ident()}"
