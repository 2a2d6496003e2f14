"""A `dot` process that stays and lays out one graph after the other.

Starting the program takes ten times as long as laying out a small graph. What goes in may be
hostile: a text of two graphs, or of half a one, must not shift what later readers get. So each text
is followed by an empty graph with a name nobody can guess. An answer counts only if one picture
precedes that of the empty graph; after anything else the process is replaced. The empty graph also
asks for the layout by `dot`: graphviz lays all further graphs out as the last one has asked for.
"""

from __future__ import annotations

import os
import secrets
import selectors
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

#: The memory a process may have, in bytes: a graph of 300 nodes takes less than half of it, one of
#: many long edges 3 GB.
MEMORY = 512 * 2**20
#: The longest text: with the empty graph it fits into a pipe. The layout of a larger graph takes so
#: long that a process of its own costs little more.
LONGEST = 32_000
#: How long a graph may take, and how long it may wait for the one before, in seconds.
SECONDS, PATIENCE = 1.0, 0.2
#: After so many graphs the process is replaced, whatever it may have kept of them.
MOST_GRAPHS = 2000

_END = b"</svg>\n"
#: graphviz calls its second graph, and all that follow, something else than the first.
_LATER, _FIRST = b'<g id="page0,1_graph0"', b'<g id="graph0"'


def start(command: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A process that reads and writes pipes, with limited memory where the system has limits of
    other processes. Raises OSError."""
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, env=env)
    if hasattr(resource, "prlimit"):
        with suppress(OSError):  # it has ended already
            resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
    return process


class DotProcess:
    """One process for all threads. It starts with its first graph, and ends with the program."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._command: tuple[str, ...] = ()
        self._graphs = 0
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def svg(
        self, command: Sequence[str], env: Mapping[str, str], dot: str, seconds: float = SECONDS
    ) -> bytes | None:
        """The SVG that `command` makes of a graph. None if it has to be made in another way: the
        graph is large, another one takes long, or this one failed."""
        text = dot.encode()
        if len(text) > LONGEST or not self._lock.acquire(timeout=PATIENCE):
            return None
        picture = None
        try:
            with suppress(OSError):
                process = self._ready(tuple(command), env)
                picture = _ask(process, text, time.monotonic() + seconds)
            if picture is None:
                self.end()
        finally:
            self._lock.release()
        return picture

    def end(self) -> None:
        """End the process; the next graph starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # closes its pipes and waits for it
                pass

    def _ready(self, command: tuple[str, ...], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        if command != self._command or self._graphs >= MOST_GRAPHS:
            self.end()
        process = self._process
        if process is None:
            process = start(command, env)
            self._process, self._command, self._graphs = process, command, 0
        self._graphs += 1
        return process

    def _forget(self) -> None:
        """In a forked child: the process belongs to the parent."""
        self._process, self._lock = None, threading.Lock()


def _ask(process: subprocess.Popen[bytes], text: bytes, limit: float) -> bytes | None:
    """The one picture that comes before that of an empty graph."""
    assert process.stdin is not None
    assert process.stdout is not None
    name = f"end{secrets.token_hex(16)}".encode()
    os.write(process.stdin.fileno(), b"%s\ndigraph %s {layout=dot}\n" % (text, name))
    answer = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := limit - time.monotonic()) > 0 and selector.select(left):
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                return None
            answer += part
            if name in answer and answer.endswith(_END):
                pictures = answer.split(_END)[:-2]  # without the empty graph's
                return (pictures[0] + _END).replace(_LATER, _FIRST) if len(pictures) == 1 else None
    return None
