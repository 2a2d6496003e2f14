"""`python -m explorer.sandbox`: the server, or a worker, depending on its options."""

from __future__ import annotations

import importlib
import mmap
import os
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from explorer import limits
from explorer.sandbox import kernel, walls, wire
from explorer.sandbox.options import ServerOptions, read_server_options
from explorer.sandbox.pool import ForkPool, WorkerPool
from explorer.sandbox.scratch import Scratch, remove_at_last
from explorer.sandbox.server import Server
from explorer.sandbox.zygote import Zygote


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the end of the app ends it
    zygote = Zygote() if sys.argv[1:] == ["fork"] else None  # before any secret is read
    options = read_server_options(sys.stdin.buffer)
    if options.worker:
        _run_worker(options)
    else:
        _run_server(options, zygote)


def _run_server(options: ServerOptions, zygote: Zygote | None) -> None:
    selector = selectors.DefaultSelector()
    listener = _open_listener(options)
    pool: ForkPool | WorkerPool | None = None
    parent_pipe: socket.socket | TextIO
    try:
        if zygote is not None:
            memory = options.memory * 2**20
            zygote.warm_up(options.jobs, memory, options.walls, options.scratch, options.warm_up)
            # To see which files without a name its children hold, whoever they are and whatever
            # they keep, and to let those give way that have more privileges as yet.
            watching = kernel.CAP_SYS_PTRACE | kernel.CAP_SYS_NICE
            kernel.keep_capabilities(watching | walls.KEPT_CAPABILITIES)
            pool, parent_pipe = ForkPool(selector, zygote, options.processes, memory), sys.stdin
            _publish_address(options, listener)
        else:
            _publish_address(options, listener)  # before the workers need it
            pool, parent_pipe = WorkerPool(options), _socket_closed_with_input()
        scratch = Scratch(Path(options.scratch))
        token, rest = options.token, options.rest
        Server(selector, listener, parent_pipe, token, pool, rest, scratch).serve()
    except BaseException:
        traceback.print_exc()  # for the app's log; os._exit prints nothing
    finally:
        if pool is not None:
            pool.end()
        remove_at_last(options.directory)
        os._exit(0)


def _open_listener(options: ServerOptions) -> socket.socket:
    """A Unix socket in the private directory; without forks, which are Linux's, a port of
    127.0.0.1."""
    if options.fork:
        listener = socket.socket(socket.AF_UNIX)
        with wire.short_path(options.socket) as path:
            listener.bind(path)
    else:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
    listener.listen(limits.UNACCEPTED)
    return listener


def _publish_address(options: ServerOptions, listener: socket.socket) -> None:
    new = options.address.with_suffix(".new")
    new.write_text(options.socket if options.fork else str(listener.getsockname()[1]))
    new.replace(options.address)


def _socket_closed_with_input() -> socket.socket:
    """A socket whose other end is closed when standard input ends: on some systems a selector
    cannot wait for pipes."""
    near, far = socket.socketpair()
    _call_at_end_of_input(far.close)
    return near


def _call_at_end_of_input(function: Callable[[], None]) -> None:
    def wait() -> None:
        sys.stdin.buffer.read()
        function()

    threading.Thread(target=wait, daemon=True).start()


def _run_worker(options: ServerOptions) -> None:
    """Connect to the server and perform one task."""
    from explorer.sandbox.child import perform_tasks  # imports torch: not into the server
    from explorer.sandbox.warm_up import prepare_torch, warm_up

    jobs = importlib.import_module(options.jobs).JOBS
    _call_at_end_of_input(lambda: os._exit(0))  # even during a task
    (warm_up if options.warm_up else prepare_torch)()
    try:
        with options.line_file(options.worker).open("r+b") as file:
            line = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        server = socket.create_connection(("127.0.0.1", int(options.address.read_text())))
    except OSError:
        os._exit(1)  # the server has ended
    os.environ.clear()
    header = wire.dump({"worker": options.worker})
    server.sendall(wire.make_frame(wire.HEADER, header))
    memory = options.memory * 2**20
    perform_tasks(server, jobs, line, memory, options.walls, options.scratch)
    os._exit(0)


if __name__ == "__main__":
    main()
