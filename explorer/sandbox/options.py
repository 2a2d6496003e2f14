"""The options of the sandbox: what the app's operator may set, what a server or worker process
receives, and how one is started (`python -m explorer.sandbox`).

Nothing here imports torch. So the app can start its server ahead of the first call: both processes
import torch at the same time, and the first page has its answer seconds earlier.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

from explorer import limits
from explorer.sandbox import bubblewrap
from explorer.sandbox.walls import Walls, python_path

# --- what the operator may set: environment variables, read once ---


class OptionError(ValueError):
    """A variable has an invalid value; the message is one sentence that names the variable."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """`processes` run at the same time. Each may use `memory` MB more than it starts with, and each
    program may run for `seconds`. `walls` is what the kernel shall forbid them."""

    processes: int
    memory: int = limits.PROGRAM_MEMORY
    seconds: float = 20.0
    walls: Walls = Walls.NARROW


WALLS = "EXPLORER_WALLS"
#: Variable -> field, smallest and largest value.
VARIABLES = {
    "EXPLORER_PROCESSES": ("processes", 1, 64),
    "EXPLORER_MEMORY_MB": ("memory", 128, 65536),
    "EXPLORER_SECONDS": ("seconds", 1, 60),
}
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


@cache
def options() -> Options:
    """The options of this process. Raises OptionError."""
    return read(os.environ)


def read(environment: Mapping[str, str]) -> Options:
    """The options set in `environment`, with defaults for the others. Raises OptionError."""
    values: dict[str, Any] = {"processes": processors(), "walls": _read_walls(environment)}
    for variable, (name, low, high) in VARIABLES.items():
        text = environment.get(variable, "").strip()
        if text:
            to_number = float if name == "seconds" else int
            try:
                value = to_number(text)
            except ValueError:
                value = math.nan
            if not low <= value <= high:
                kind = "a number" if to_number is float else "a whole number"
                raise OptionError(
                    f"{variable} is {text!r}; it must be {kind} from {low} to {high}."
                )
            values[name] = value
    return Options(**values)


def _read_walls(environment: Mapping[str, str]) -> Walls:
    text = environment.get(WALLS, "").strip()
    try:
        return Walls(text or Walls.NARROW)
    except ValueError:
        names = ", ".join(walls.value for walls in Walls)
        raise OptionError(f"{WALLS} is {text!r}; it must be one of {names}.") from None


def processors() -> int:
    """The number of processors this process may use; a container or scheduler may restrict it."""
    count = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text().split()
        return max(1, min(count, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # there is no such file, or no limit ("max")
        return count


# --- what a process receives, as one line of JSON on its standard input ---


@dataclass(frozen=True, kw_only=True)
class ServerOptions(Options):
    """The options of a server and of its workers.

    `directory` is private to the app and holds the server's address; `jobs` names the module
    with the registry `JOBS`. `bubblewrap` says whether a server that forks runs inside that.
    `rest` is for how many seconds a live child waits for its reader's next request. Without
    `warm_up`, processes start sooner and a child's first operations take longer. `worker` is empty
    for the server; a worker has a secret name instead of the token, with which it can only ask for
    its one task.
    """

    directory: str
    token: str
    jobs: str = "explorer.sandbox.jobs"
    fork: bool = sys.platform == "linux"
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


def read_server_options(standard_input: IO[bytes]) -> ServerOptions:
    """In the new process: the options passed to `start_process`."""
    fields = json.loads(standard_input.readline())
    return ServerOptions(**fields | {"walls": Walls(fields["walls"])})


# --- starting one ---

#: The environment variables a new process inherits; others may hold secrets.
_INHERITED = (
    "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP",
    "LANG", "LC_ALL",
)  # fmt: skip

Started = tuple[subprocess.Popen[bytes], ServerOptions]

#: A thread that lasts: bubblewrap ends with the thread that has started it.
_starter = ThreadPoolExecutor(1, thread_name_prefix="start")
_lock = threading.Lock()
_started_ahead: list[Started] = []


def start_ahead() -> None:
    """Start a server that the app's first call takes. If that fails, the call reports it."""
    with _lock, suppress(OSError, OptionError):
        _started_ahead.append(start_server())


def take_started() -> Started | None:
    """The server that was started ahead, unless it has been taken."""
    with _lock:
        return _started_ahead.pop() if _started_ahead else None


def start_server(**changed: Any) -> Started:
    """Start a server with a folder of its own, and the operator's options but for the `changed`.
    Raises OSError if the disk is full or no process is left."""
    directory = tempfile.mkdtemp(prefix="explorer-")  # with mode 0700
    try:
        own = {"directory": directory, "token": secrets.token_hex(16)}
        server_options = ServerOptions(**vars(options()) | own | changed)
        for folder in (server_options.empty_directory, server_options.scratch):
            Path(folder).mkdir()
        return _starter.submit(start_process, server_options).result(), server_options
    except BaseException as failure:
        shutil.rmtree(directory, ignore_errors=True)
        if isinstance(failure, RuntimeError):  # from `submit`
            raise OSError("the app is ending") from failure
        raise


def start_process(options: ServerOptions) -> subprocess.Popen[bytes]:
    """Start a process that ends when the pipe to its standard input closes.

    Whether it forks is given on the command line, because the zygote has to be forked before the
    options, which contain the token, are read.
    """
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    environment |= {"PYTHONPATH": python_path(), "OMP_NUM_THREADS": "1"}
    environment["MALLOC_ARENA_MAX"] = "2"  # each reserves 64 MB of what a program may have
    environment["MPLCONFIGDIR"] = str(Path(options.directory, "matplotlib"))
    forks = options.fork and not options.worker
    wall = []
    if forks and options.bubblewrap:
        wall = bubblewrap.wrapped(options.jobs, options.directory)
    process = subprocess.Popen(
        [*wall, sys.executable, "-P", "-m", "explorer.sandbox", *(["fork"] if forks else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=options.empty_directory,
        env=environment,
        start_new_session=True,
    )
    assert process.stdin is not None
    with suppress(OSError):  # it has already ended, which the caller notices by polling
        process.stdin.write(json.dumps(asdict(options)).encode() + b"\n")
        process.stdin.flush()
    return process
