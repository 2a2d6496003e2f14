"""Measures the sandbox's own processes. Python imports a module of this name whenever it starts.

These processes have no environment variables, cannot write files and are killed when they end. So
each maps a file before it is confined (the server when it starts, a child right after the fork) and
copies its measurement there before each answer. Otherwise the product is unchanged: all limits and
restrictions are in force.
"""

import mmap
import os
import sys
import tempfile
import time
from pathlib import Path

SIZE = 2**23
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".coverage-sandbox"


def map_new_file() -> mmap.mmap:
    descriptor, _ = tempfile.mkstemp(dir=FOLDER)
    os.ftruncate(descriptor, SIZE)
    memory = mmap.mmap(descriptor, SIZE)
    os.close(descriptor)
    return memory


def measure() -> None:
    import coverage

    measured = coverage.Coverage(
        data_file=None, branch=True, config_file=False, include=[f"{ROOT}/explorer/*"]
    )
    measured.start()
    from explorer.sandbox import child, server, wire

    memory, last = [map_new_file()], [0.0]

    def save() -> None:
        data = measured.get_data().dumps()
        memory[0][: 8 + len(data)] = len(data).to_bytes(8, "big") + data
        last[0] = time.monotonic()

    def sending(connection, kind, *rest, send=child._send, **limit):
        if kind != wire.PROGRESS:
            save()
        send(connection, kind, *rest, **limit)

    def ending(self, run, end=server.Server._end):
        status = end(self, run)
        if time.monotonic() > last[0] + 2:
            save()
        return status

    def leaving(status, leave=os._exit):
        save()
        leave(status)

    child._send, server.Server._end, os._exit = sending, ending, leaving
    os.register_at_fork(after_in_child=lambda: memory.__setitem__(0, map_new_file()))


if FOLDER.is_dir() and "explorer.sandbox" in sys.orig_argv:
    measure()
