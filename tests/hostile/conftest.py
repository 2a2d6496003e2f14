"""A server for the hostile programs of a file, and what they must not touch."""

import os
import socket
from pathlib import Path

import pytest

from explorer.sandbox import Sandbox

#: Seconds in which a program that was stopped has ended, however busy the machine is; one that
#: hangs never ends.
PATIENCE = 20.0
SECRET = "EXPLORER_TEST_SECRET"


@pytest.fixture(scope="package")
def server():
    """One server for the whole corpus, with a secret in the app's environment."""
    os.environ[SECRET] = "do not tell"
    box = Sandbox()
    box.call("run", {"source": "x = 1"}, timeout=30)
    yield box
    box.stop()
    del os.environ[SECRET]


class Canary:
    """A file and a listener that a success would touch."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "canary"
        self.file.write_text("untouched")
        os.utime(self.file, (1, 1))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]

    def is_untouched(self) -> bool:
        try:
            self.listener.accept()
        except BlockingIOError:
            return (
                self.file.read_text() == "untouched"
                and self.file.stat().st_mtime == 1
                and len(list(self.file.parent.iterdir())) == 1
            )
        return False


@pytest.fixture
def canary(tmp_path):
    made = Canary(tmp_path)
    yield made
    made.listener.close()


def memory(pid: int) -> int:
    """Resident memory of a process in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(status.split("VmRSS:")[1].split()[0])
