"""The settings of a server or worker process, and starting it (`python -m explorer.sandbox`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

from explorer.sandbox import bubblewrap
from explorer.sandbox.installed_code import python_path
from explorer.sandbox.kernel_restrictions import Walls
from explorer.sandbox.options import options

#: The environment variables a new process inherits; others may hold secrets.
_INHERITED = (
    "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP",
    "LANG", "LC_ALL",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What a new process receives, as one line of JSON on its standard input.

    `directory` is private to the app and holds the server's address; `jobs` names the module
    with the registry `JOBS`. `memory` is in bytes, beyond what a child starts with; `walls` is
    what the kernel shall forbid it. `bubblewrap` says whether a server that forks runs inside that.
    `rest` is for how many seconds a live child waits for its reader's next request. Without
    `warm_up`, processes start sooner and a child's first operations take longer. `worker` is empty
    for the server; a worker has a secret name instead of the token, with which it can only ask for
    its one task.
    """

    directory: str
    token: str
    jobs: str = "explorer.sandbox.jobs"
    fork: bool = sys.platform == "linux"
    processors: int = field(default_factory=lambda: options().processes)
    memory: int = field(default_factory=lambda: options().memory * 2**20)
    walls: Walls = field(default_factory=lambda: options().walls)
    bubblewrap: bool = field(default_factory=lambda: not bubblewrap.failure())
    rest: float = 2.0
    warm_up: bool = True
    worker: str = ""

    @property
    def empty_directory(self) -> str:
        """The working directory. A cleaner of temporary files may remove it."""
        return str(Path(self.directory, "empty"))

    @property
    def scratch(self) -> str:
        """Where each child has the folder that its program may write in."""
        return str(Path(self.directory, "scratch"))

    @property
    def socket(self) -> str:
        """Where a server that forks listens."""
        return str(Path(self.directory, "socket"))

    @property
    def address(self) -> Path:
        """The file that holds the server's address: a socket's path, or a port of 127.0.0.1."""
        return Path(self.directory, "address")

    def line_file(self, worker: str) -> Path:
        """The file in which a worker stores the line its program has reached."""
        return Path(self.directory, f"line-{worker}")


def start_process(settings: Settings) -> subprocess.Popen[bytes]:
    """Start a process that ends when the pipe to its standard input closes.

    Whether it forks is given on the command line, because the zygote has to be forked before the
    settings, which contain the token, are read.
    """
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    environment |= {"PYTHONPATH": python_path(), "OMP_NUM_THREADS": "1"}
    environment["MALLOC_ARENA_MAX"] = "2"  # each reserves 64 MB of what a program may have
    environment["MPLCONFIGDIR"] = str(Path(settings.directory, "matplotlib"))
    forks = settings.fork and not settings.worker
    arguments = ["fork"] if forks else []
    wall: list[str] = []
    if settings.bubblewrap and forks:
        wall = bubblewrap.wrapped(settings.jobs, settings.directory)
    process = subprocess.Popen(
        [*wall, sys.executable, "-P", "-m", "explorer.sandbox", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=settings.empty_directory,
        env=environment,
        start_new_session=True,
    )
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(asdict(settings)).encode() + b"\n")
        process.stdin.flush()
    except OSError:
        pass  # it has already ended, which the caller notices by polling
    return process


def read_settings(standard_input: IO[bytes]) -> Settings:
    """In the new process: the settings passed to `start_process`."""
    fields = json.loads(standard_input.readline())
    return Settings(**fields | {"walls": Walls(fields["walls"])})
