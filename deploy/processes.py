"""Start and end processes of this machine."""

from __future__ import annotations

import socket
import subprocess
import urllib.request
from contextlib import ExitStack
from pathlib import Path

#: Seconds that a process may take to end.
END_TIME = 10.0


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody uses now."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


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


def answers(url: str) -> bool:
    """Whether a request has a good answer within 2 seconds."""
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except OSError:
        return False


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, and kill it if it does not."""
    process.terminate()
    try:
        process.wait(END_TIME)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
