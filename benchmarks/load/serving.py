"""The app, started as in README.md, and the memory and time of its processes (Linux: /proc)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load.files import WrongAnswer, get
from explorer.ui.server.processes import descendants, memory, processor_time

#: The folder of the project.
ROOT = Path(__file__).parent.parent.parent
#: Processors shared by the server and the readers.
PROCESSORS = 2
#: Seconds that the app may take to start, and a process to end.
_START_TIME, _END_TIME = 60.0, 10.0


@dataclass(frozen=True)
class Usage:
    """Memory and time of the server's processes: the app's, the sandbox's and its children's."""

    pss: int
    """Bytes of memory; memory shared by several processes counts once."""
    app: int
    """Bytes of the app's process alone."""
    processes: int
    threads: int
    sessions: int
    """Readers who are connected."""
    processor: float
    """Seconds of processor time so far, of processes that run or have been waited for."""


@dataclass(frozen=True)
class Server:
    """A running server: the app, or a proxy at `address` with `apps` behind it. `pid` is 0 where it
    runs somewhere else: its memory and processors cannot be measured then."""

    address: str
    pid: int = 0
    apps: tuple[Server, ...] = ()

    @property
    def ours(self) -> bool:
        return bool(self.pid)

    def usage(self) -> Usage:
        if not self.ours:
            return Usage(0, 0, 0, 0, 0, 0.0)
        pids = self._pids()
        apps = self.apps or (self,)
        return Usage(
            sum(map(memory, pids)),
            sum(memory(app.pid) for app in apps),
            len(pids),
            sum(map(_threads, pids)),
            self.metric("active_sessions"),
            sum(map(processor_time, pids)),
        )

    def processor(self) -> float:
        """Seconds of processor time so far. Unlike `usage`, it asks the server nothing."""
        return sum(map(processor_time, self._pids()))

    def metric(self, family: str, label: str = "") -> int:
        """The sum of those of Streamlit's own metrics in a family whose text contains `label`."""
        if self.apps:
            return sum(app.metric(family, label) for app in self.apps)
        try:
            text = get(f"{self.address}/_stcore/metrics?families={family}").decode()
        except WrongAnswer:  # it is being restarted
            return 0
        lines = [line for line in text.splitlines() if line.startswith(family) and label in line]
        return sum(round(float(line.rsplit(" ", 1)[1])) for line in lines)

    def _pids(self) -> list[int]:
        """The processes of the server, or of the proxy and the apps behind it."""
        roots = (self, *self.apps) if self.ours else ()
        return sorted({pid for root in roots for pid in family(root.pid)})


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody uses now."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def streamlit_command(port: int, module: str = "streamlit") -> list[str]:
    """What starts the app; `module` takes the place of Streamlit's command line."""
    command = [sys.executable, "-m", module, "run", "app.py", "--server.headless", "true"]
    return [*command, "--server.address", "127.0.0.1", "--server.port", str(port)]


def launch(
    command: list[str], log: Path, environment: dict[str, str], root: Path
) -> subprocess.Popen[bytes]:
    """Start a process that the terminal's Ctrl+C does not reach."""
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            cwd=root,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, and kill it if it does not."""
    process.terminate()
    try:
        process.wait(_END_TIME)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def serving(
    log: Path, module: str = "streamlit", root: Path = ROOT, /, **environment: str
) -> Iterator[Server]:
    """Run the app in `root` on a free port of this machine, until the block ends."""
    (port,) = free_ports(1)
    with started(streamlit_command(port, module), port, log, root, **environment) as server:
        yield server


@contextmanager
def started(
    command: list[str], port: int, log: Path, root: Path, /, **environment: str
) -> Iterator[Server]:
    """Run a command that serves the app on this port, until the block ends."""
    process = launch(command, log, os.environ | environment, root)
    try:
        address = f"http://127.0.0.1:{port}"
        limit = time.monotonic() + _START_TIME
        while not answers(f"{address}/_stcore/health"):
            if process.poll() is not None or time.monotonic() > limit:
                raise RuntimeError(f"the app did not start:\n{log.read_text()}")
            time.sleep(0.1)
        yield Server(address, process.pid)
    finally:
        end(process)


def answers(url: str) -> bool:
    """Whether a request has a good answer."""
    with suppress(WrongAnswer):
        return bool(get(url))
    return False


def pin_processors() -> int:
    """Restrict this process, and so the server, to two processors. Returns how many it has now."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:PROCESSORS])
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    return [pid, *descendants(pid)]


def _threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:  # the process has ended, or this is not Linux
        return 0
