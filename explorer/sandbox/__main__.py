"""`python -m explorer.sandbox`: the server, or one of its workers, as standard input tells."""

from __future__ import annotations

import importlib
import mmap
import os
import selectors
import shutil
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from explorer.sandbox import limits, warm, wire, work
from explorer.sandbox.children import Forks, Workers
from explorer.sandbox.server import Server
from explorer.sandbox.start import Settings, read_settings
from explorer.sandbox.zygote import Zygote


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the app, not before
    zygote = Zygote() if sys.argv[1:] == ["fork"] else None  # before anything secret is read
    settings = read_settings(sys.stdin.buffer)
    if settings.worker:
        _work(settings)
    else:
        _serve(settings, zygote)


def _serve(settings: Settings, zygote: Zygote | None) -> None:
    selector = selectors.DefaultSelector()
    listener = _listen(settings)
    pool: Forks | Workers | None = None
    lifeline: socket.socket | TextIO
    try:
        if zygote is not None:
            zygote.warm(settings.jobs, settings.memory)
            pool, lifeline = Forks(selector, zygote, settings.processors), sys.stdin
            _tell_address(settings, listener)
        else:
            _tell_address(settings, listener)  # before its workers look for it
            pool, lifeline = Workers(settings), _end_of_input()
        Server(selector, listener, lifeline, settings.token, pool).serve()
    except BaseException:
        traceback.print_exc()  # for the app's log; os._exit would pass over it
    finally:
        if pool is not None:
            pool.end()
        shutil.rmtree(settings.directory, ignore_errors=True)
        os._exit(0)


def _listen(settings: Settings) -> socket.socket:
    """A socket in the private directory, or a port of the loopback where there is no such."""
    if settings.fork:
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(str(Path(settings.directory, "socket")))
        except OSError:  # the path may be too long for a socket
            listener.close()
        else:
            listener.listen(64)
            return listener
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    return listener


def _tell_address(settings: Settings, listener: socket.socket) -> None:
    name = listener.getsockname()
    new = settings.address.with_suffix(".new")
    new.write_text(name if isinstance(name, str) else str(name[1]))
    new.replace(settings.address)


def _end_of_input() -> socket.socket:
    """A socket that can be read when standard input ends; not every system can wait for both
    pipes and sockets at once."""
    near, far = socket.socketpair()
    _at_end_of_input(far.close)
    return near


def _at_end_of_input(do: Callable[[], None]) -> None:
    def wait() -> None:
        sys.stdin.buffer.read()
        do()

    threading.Thread(target=wait, daemon=True).start()


def _work(settings: Settings) -> None:
    """Call the server back and do one job after another until it closes the connection."""
    jobs = importlib.import_module(settings.jobs).JOBS
    _at_end_of_input(lambda: os._exit(0))  # also in the middle of a job
    warm.up()
    with settings.line(settings.worker).open("r+b") as file:
        line = mmap.mmap(file.fileno(), mmap.PAGESIZE)
    server = socket.create_connection(("127.0.0.1", int(settings.address.read_text())))
    os.environ.clear()
    limits.confine(settings.memory)
    hello = {"token": settings.token, "worker": settings.worker}
    server.sendall(wire.pack(wire.HELLO, wire.dump(hello)))
    while task := work.asked(server):
        work.perform(server, jobs, task, line)


if __name__ == "__main__":
    main()
