"""Starting `python -m explorer.sandbox`: as the server, or as one of its workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

from explorer.sandbox.options import options

#: All that the new process sees of this one's environment; the rest may hold secrets.
_ENVIRONMENT = (
    "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP",
    "LANG", "LC_ALL",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What a new process is told, as one line of JSON on its standard input.

    `directory` is private to the app and holds the server's address; `jobs` names the module
    with the table `JOBS`. `memory` is in bytes, beyond what a child starts with. `worker` is empty
    for the server, and a worker's name otherwise.
    """

    directory: str
    token: str
    jobs: str = "explorer.sandbox.jobs"
    fork: bool = sys.platform == "linux"
    processors: int = field(default_factory=lambda: options().processes)
    memory: int = field(default_factory=lambda: options().memory * 2**20)
    worker: str = ""

    @property
    def nowhere(self) -> str:
        """An empty directory to run in. What cleans the system's temporary files may remove it."""
        return str(Path(self.directory, "empty"))

    @property
    def address(self) -> Path:
        """Where the server writes what it listens on: a path, or a port of 127.0.0.1."""
        return Path(self.directory, "address")

    def line(self, worker: str) -> Path:
        """The file through which a worker tells its line."""
        return Path(self.directory, f"line-{worker}")


def start(settings: Settings) -> subprocess.Popen[bytes]:
    """Start a process that ends when the pipe to its standard input closes.

    The command line says whether it forks, because the zygote must exist before the settings,
    which hold the token, are read.
    """
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    root = str(Path(__file__).resolve().parents[2])
    paths = filter(None, [root, os.environ.get("PYTHONPATH")])
    environment |= {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    kind = ["fork"] if settings.fork and not settings.worker else []
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "explorer.sandbox", *kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=settings.nowhere,
        env=environment,
        start_new_session=True,
    )
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(asdict(settings)).encode() + b"\n")
        process.stdin.flush()
    except OSError:
        pass  # it has ended already, which its caller finds out by polling
    return process


def read_settings(standard_input: IO[bytes]) -> Settings:
    """In the new process: what `start` was given."""
    return Settings(**json.loads(standard_input.readline()))
