"""The app's side: a server started when it is first needed, and one connection per call.

`call` and those that submit use the app's one `Sandbox`.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from explorer.program import ProgramRefused
from explorer.sandbox import bubblewrap, exit_reasons
from explorer.sandbox.ahead import start_server, take_started
from explorer.sandbox.answer_limits import limits_of
from explorer.sandbox.calls import Call, OnProgress, OnWait, Server, ServerLost, dump_request

#: The time limit of a job in seconds, unless another is given.
TIMEOUT = 5.0


class Sandbox:
    """One server, which `submit` starts and uses. Safe to use from any number of threads.

    `options` are fields of `Settings`, such as `jobs` and `fork`.
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
        body = dump_request(request)
        return Call(self, header, body, read, on_progress, on_wait, limits, data)

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
            raise ProgramRefused(exit_reasons.server_not_started()) from None

    def replace(self, server: Server) -> None:
        """End this server; the next call starts another."""
        with self._lock:
            if self._server is server:
                self._end(server)

    def _end(self, server: Server) -> None:
        self._server = None
        if server.settings.bubblewrap and not server.has_listened():
            bubblewrap.give_up()
        server.end()


def _thread_name() -> str:
    return f"{os.getpid()}-{threading.get_ident()}"


app_sandbox = Sandbox()
call = app_sandbox.call
submit = app_sandbox.submit
start = app_sandbox.start
is_ready = app_sandbox.is_ready
