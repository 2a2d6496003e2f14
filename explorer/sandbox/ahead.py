"""Starting the app's server ahead of the first call. Nothing here imports torch: both processes
import it at the same time, and the first page has its answer seconds earlier."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from explorer.sandbox.options import OptionError
from explorer.sandbox.settings import Settings, start_process

Started = tuple[subprocess.Popen[bytes], Settings]

#: A thread that lasts: bubblewrap ends with the thread that has started it.
_starter = ThreadPoolExecutor(1, thread_name_prefix="start")
_lock = threading.Lock()
_started: list[Started] = []


def start_ahead() -> None:
    """Start a server that the app's first call takes. If that fails, the call reports it."""
    with _lock, suppress(OSError, OptionError):
        _started.append(start_server())


def take_started() -> Started | None:
    """The server that was started ahead, unless it has been taken."""
    with _lock:
        return _started.pop() if _started else None


def start_server(**options: Any) -> Started:
    """Start a server with a folder of its own; `options` are fields of `Settings`. Raises OSError
    if the disk is full or no process is left."""
    directory = tempfile.mkdtemp(prefix="explorer-")  # with mode 0700
    try:
        settings = Settings(directory, secrets.token_hex(16), **options)
        for folder in (settings.empty_directory, settings.scratch):
            Path(folder).mkdir()
        return _starter.submit(start_process, settings).result(), settings
    except BaseException as failure:
        shutil.rmtree(directory, ignore_errors=True)
        if isinstance(failure, RuntimeError):  # from `submit`
            raise OSError("the app is ending") from failure
        raise
