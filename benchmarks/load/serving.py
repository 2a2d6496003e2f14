"""The app, started as in README.md, and the memory and time of its processes (Linux: /proc)."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load.files import get

#: The folder of the project.
ROOT = Path(__file__).parent.parent.parent
#: Processors shared by the server and the readers.
PROCESSORS = 2
#: For how many seconds Streamlit keeps the session of a reader who has left or lost the connection.
_SESSION_TTL_OPTION = "server.disconnectedSessionTTL"


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
    """A running server."""

    address: str
    pid: int

    def usage(self) -> Usage:
        family = _family(self.pid)
        return Usage(
            sum(map(_pss, family)),
            _pss(self.pid),
            len(family),
            sum(_number(pid, "status", "Threads") for pid in family),
            self.metric("active_sessions"),
            sum(map(_processor, family)),
        )

    def metric(self, family: str, label: str = "") -> int:
        """The sum of those of Streamlit's own metrics in a family whose text contains `label`."""
        text = get(f"{self.address}/_stcore/metrics?families={family}").decode()
        lines = [line for line in text.splitlines() if line.startswith(family) and label in line]
        return sum(round(float(line.rsplit(" ", 1)[1])) for line in lines)


@contextmanager
def serving(
    log: Path, module: str = "streamlit", root: Path = ROOT, /, **environment: str
) -> Iterator[Server]:
    """Run the app in `root` on a free port of this machine, until the block ends. `module` takes
    the place of Streamlit's command line."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", module, "run", "app.py", "--server.headless", "true"]
    command += ["--server.address", "127.0.0.1", "--server.port", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=root, env=os.environ | environment, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(address, process, log)
            yield Server(address, process.pid)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def session_ttl() -> int:
    """Seconds for which Streamlit keeps the session of a reader who has left."""
    from streamlit import config

    return int(config.get_option(_SESSION_TTL_OPTION))


def pin_processors() -> int:
    """Restrict this process, and so the server, to two processors. Returns how many it has now."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:PROCESSORS])
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    limit = time.monotonic() + 60
    while time.monotonic() < limit and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the app did not start:\n{log.read_text()}")


def _family(pid: int) -> list[int]:
    """A process and all its descendants."""
    parents = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        fields = _text(file).rpartition(")")[2].split()
        if fields:
            parents[int(file.parent.name)] = int(fields[1])
    family = [pid]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family


def _pss(pid: int) -> int:
    return _number(pid, "smaps_rollup", "Pss") * 1024


def _number(pid: int, file: str, name: str) -> int:
    match = re.search(rf"^{name}:\s*(\d+)", _text(Path(f"/proc/{pid}/{file}")), re.MULTILINE)
    return int(match[1]) if match else 0


def _processor(pid: int) -> float:
    fields = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # the process has ended, or this is not Linux
        return ""
