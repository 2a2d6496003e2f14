"""Several processes of the app ("replicas") behind HAProxy, as deploy/ runs them."""

from __future__ import annotations

import csv
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load.serving import ROOT, answers, end, free_ports, launch, streamlit_command

#: Seconds that a replica may take until HAProxy sends it readers, and HAProxy to answer.
_START_TIME, _PROXY_TIME = 120.0, 10.0


@dataclass
class Replica:
    """A place for a process of the app, which HAProxy knows by its `name`."""

    name: str
    port: int
    log: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where the replica answers without the proxy."""
        return f"http://127.0.0.1:{self.port}"


class Replicas:
    """One place more than replicas: to replace one, another is started first, so that nobody waits
    and the readers stay evenly distributed."""

    def __init__(self, count: int, folder: Path, root: Path, environment: dict[str, str]) -> None:
        """`folder` is for logs and HAProxy's files; the app is in `root`."""
        first, *others = free_ports(count + 2)
        self.root, self.folder = root, folder
        self.address = f"http://127.0.0.1:{first}"
        self.places = {
            name: Replica(name, port, folder / f"{name}.log")
            for name, port in zip((f"r{i}" for i in range(1, count + 2)), others, strict=True)
        }
        self.environment = os.environ | environment
        base = self.environment.get("STREAMLIT_SERVER_BASE_URL_PATH", "")
        self.base_path = f"/{base}" if base else ""
        servers = folder / "servers.cfg"
        lines = [f"    server {p.name} 127.0.0.1:{p.port}" for p in self.places.values()]
        servers.write_text("\n".join(["backend app", *lines, ""]))
        settings = {
            "BIND": f"127.0.0.1:{first}",
            "ADMIN_SOCKET": str(folder / "admin"),
            "BASE_PATH": self.base_path,
        }
        program = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin") or "haproxy"
        command = [program, "-db", "-f", str(ROOT / "deploy" / "haproxy.cfg"), "-f", str(servers)]
        self.proxy = launch(command, folder / "haproxy.log", os.environ | settings, root)

    @property
    def running(self) -> list[Replica]:
        """The replicas that have been started, also one that died."""
        return [place for place in self.places.values() if place.process is not None]

    def admin(self, command: str) -> str:
        """The answer of HAProxy to a command of its management guide, section 9.3."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_PROXY_TIME)
            connection.connect(str(self.folder / "admin"))
            connection.sendall(f"{command}\n".encode())
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode().strip()

    def status(self) -> dict[str, dict[str, str]]:
        """HAProxy's statistics of every place: `status` (UP, DOWN), `scur` (open connections) and
        more."""
        rows = csv.DictReader(self.admin("show stat app 4 -1").removeprefix("# ").splitlines())
        return {row["svname"]: row for row in rows}

    def launch(self, name: str) -> None:
        """Start a process of the app; HAProxy sends it readers once it is ready."""
        place = self.places[name]
        command = streamlit_command(place.port)
        place.process = launch(command, place.log, self.environment, self.root)

    def start(self, *names: str) -> None:
        """Start processes of the app, and wait until HAProxy sends them readers."""
        for name in names:
            self.launch(name)
        for name in names:
            place, limit = self.places[name], time.monotonic() + _START_TIME
            while not self._serves_readers(name):
                assert place.process is not None
                if place.process.poll() is not None or time.monotonic() > limit:
                    raise RuntimeError(f"{name} did not start:\n{place.log.read_text()}")
                time.sleep(0.1)

    def stop(self, name: str) -> None:
        """End a replica; its readers go on with another."""
        place = self.places[name]
        assert place.process is not None
        self.admin(f"set server app/{name} state maint")
        end(place.process)
        place.process = None

    def kill(self, name: str) -> None:
        """End a replica at once, as a crash does."""
        process = self.places[name].process
        assert process is not None
        process.kill()
        process.wait()

    def roll(self) -> None:
        """Replace every replica, one after another."""
        for place in self.running:
            self.start(next(p.name for p in self.places.values() if p.process is None))
            self.stop(place.name)

    def _serves_readers(self, name: str) -> bool:
        """Whether a replica is ready, and HAProxy sends it readers; it may do so from then on."""
        with suppress(OSError):  # HAProxy does not listen yet
            if answers(f"{self.places[name].address}{self.base_path}/ready"):
                self.admin(f"set server app/{name} state ready")
                return self.status()[name]["status"] == "UP"
        return False

    def end(self) -> None:
        processes = [self.proxy, *(p.process for p in self.running if p.process is not None)]
        for process in processes:
            process.terminate()
        for process in processes:
            end(process)


@contextmanager
def running_replicas(
    count: int, folder: Path, root: Path = ROOT, **environment: str
) -> Iterator[Replicas]:
    """Replicas that all serve readers, until the block ends. `folder` needs a short path: that of
    a Unix socket has at most 107 characters."""
    replicas = Replicas(count, folder, root, environment)
    try:
        replicas.start(*list(replicas.places)[:count])
        yield replicas
    finally:
        replicas.end()
