"""Several processes of the app ("replicas") on this machine, behind HAProxy.

    python -m deploy.replicas --app 4 --port 8500

One process of Streamlit uses little more than one processor. Each reader stays with one replica; if
it ends, they go on with another, and it is started again. SIGHUP replaces all replicas one after
another, SIGTERM ends everything. docs/deployment.md explains how.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.processes import answers, end, free_ports, launch

#: The folder of the project.
ROOT = Path(__file__).parents[1]
#: Seconds that a replica may take to start, and HAProxy to start or answer.
START_TIME, PROXY_TIME = 120.0, 10.0


class ReplicaError(Exception):
    """A replica or the proxy could not be started."""


@dataclass
class Replica:
    """A place for a process of the app; without one, the proxy has the place closed."""

    name: str
    port: int
    log: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where the replica answers without the proxy."""
        return f"http://127.0.0.1:{self.port}"


class Replicas:
    """The replicas and their proxy. One place more than replicas: when a replica is replaced, the
    new one starts first, so that nobody waits and the readers stay evenly distributed."""

    def __init__(
        self, count: int, folder: Path, port: int = 0, root: Path = ROOT, **environment: str
    ) -> None:
        """The replicas have the ports after the proxy's; port 0 stands for any that are free.
        `folder` is for logs and the admin socket."""
        first, *others = range(port, port + count + 2) if port else free_ports(count + 2)
        self.root, self.folder = root, folder
        self.address = f"http://127.0.0.1:{first}"
        names = [f"r{number}" for number in range(1, count + 2)]
        self.places = {
            n: Replica(n, p, folder / f"{n}.log") for n, p in zip(names, others, strict=True)
        }
        share = max(1, (os.cpu_count() or 1) // count)
        self.environment = {"EXPLORER_PROCESSES": str(share)} | os.environ | environment
        base = self.environment.get("STREAMLIT_SERVER_BASE_URL_PATH", "").strip("/")
        self.base_path = f"/{base}" if base else ""
        self.proxy: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> list[Replica]:
        """The replicas that have been started, also one that died."""
        return [place for place in self.places.values() if place.process is not None]

    # --- the proxy ---

    def start_proxy(self) -> None:
        """Start HAProxy with all places closed."""
        program = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
        if program is None:
            raise ReplicaError("HAProxy is not installed.")
        servers = self.folder / "servers.cfg"
        lines = [f"    server {p.name} 127.0.0.1:{p.port} disabled" for p in self.places.values()]
        servers.write_text("\n".join(["backend app", *lines, ""]))
        settings = {
            "BIND": self.address.removeprefix("http://"),
            "ADMIN_SOCKET": str(self.folder / "admin"),
            "BASE_PATH": self.base_path,
        }
        files = ["-f", str(ROOT / "deploy" / "haproxy.cfg"), "-f", str(servers)]
        log = self.folder / "haproxy.log"
        self.proxy = launch([program, "-db", *files], log, os.environ | settings, self.root)
        limit = time.monotonic() + PROXY_TIME
        while not self._proxy_answers():
            if self.proxy.poll() is not None or time.monotonic() > limit:
                raise ReplicaError(f"HAProxy did not start:\n{log.read_text()}")
            time.sleep(0.05)

    def admin(self, command: str) -> str:
        """The answer of HAProxy to a command of its management guide, section 9.3."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PROXY_TIME)
            connection.connect(str(self.folder / "admin"))
            connection.sendall(f"{command}\n".encode())
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode().strip()

    def status(self) -> dict[str, dict[str, str]]:
        """HAProxy's statistics of every place: `status` (UP, DOWN, DRAIN, MAINT), `scur` (open
        connections) and more."""
        rows = csv.DictReader(self.admin("show stat app 4 -1").removeprefix("# ").splitlines())
        return {row["svname"]: row for row in rows}

    def set_state(self, name: str, state: str) -> None:
        """Let the proxy use a place (ready), send it no new readers (drain), or close it (maint):
        its readers lose their connections, and their pages connect to another replica."""
        answer = self.admin(f"set server app/{name} state {state}")
        if answer:
            raise ReplicaError(answer)

    # --- one replica ---

    def start(self, name: str) -> None:
        """Start a replica, open every page once, then let readers in. Raises `ReplicaError`."""
        place = self.places[name]
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
        command += ["--server.address", "127.0.0.1", "--server.port", str(place.port)]
        place.process = process = launch(command, place.log, self.environment, self.root)
        address = f"{place.address}{self.base_path}"
        limit = time.monotonic() + START_TIME
        while not answers(f"{address}/_stcore/health"):
            if process.poll() is not None or time.monotonic() > limit:
                end(process)
                raise ReplicaError(f"{name} did not start:\n{place.log.read_text()}")
            time.sleep(0.1)
        warm = [sys.executable, "-m", "deploy.warm_up", address]
        if subprocess.run(warm, cwd=ROOT, env=self.environment).returncode:
            end(process)
            raise ReplicaError(f"{name} has a page that fails:\n{place.log.read_text()}")
        self.set_state(name, "ready")

    def stop(self, name: str, patience: float = 0.0) -> None:
        """Send no new readers to a replica, wait some seconds for its readers to leave, send those
        who remain to another, and end it."""
        place = self.places[name]
        self.set_state(name, "drain")
        limit = time.monotonic() + patience
        while int(self.status()[name]["scur"]) and time.monotonic() < limit:
            time.sleep(0.2)
        self.set_state(name, "maint")
        if place.process is not None:
            end(place.process)
        place.process = None

    def kill(self, name: str) -> None:
        """End a replica at once, as a crash does. The proxy has to notice."""
        process = self.places[name].process
        assert process is not None
        process.kill()
        process.wait()

    def restart(self, name: str) -> None:
        """Start a replica again in its place, whether it runs or has died."""
        self.stop(name)
        self.start(name)

    def replace(self, name: str, patience: float = 0.0) -> str:
        """Start another replica in the free place, then stop this one. Returns the new name."""
        free = next(place.name for place in self.places.values() if place.process is None)
        try:
            self.start(free)
        except ReplicaError:
            self.places[free].process = None
            raise
        self.stop(name, patience)
        return free

    def roll(self, patience: float = 0.0) -> None:
        """Replace every replica, one after another."""
        for place in self.running:
            self.replace(place.name, patience)

    def end(self) -> None:
        """End all processes."""
        for process in [self.proxy, *(place.process for place in self.running)]:
            if process is not None:
                process.terminate()
        for process in [self.proxy, *(place.process for place in self.running)]:
            if process is not None:
                end(process)

    def _proxy_answers(self) -> bool:
        try:
            return bool(self.admin("show info"))
        except OSError:
            return False


@contextmanager
def running(
    count: int, folder: Path, port: int = 0, root: Path = ROOT, **environment: str
) -> Iterator[Replicas]:
    """Replicas that all serve readers, until the block ends. `folder` needs a short path: that of
    a Unix socket has at most 107 characters."""
    replicas = Replicas(count, folder, port, root, **environment)
    try:
        replicas.start_proxy()
        pool = ThreadPoolExecutor(count)
        list(pool.map(replicas.start, list(replicas.places)[:count]))
        pool.shutdown()
        yield replicas
    finally:
        replicas.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--app", type=int, default=os.cpu_count() or 1, help="how many replicas")
    parser.add_argument("--port", type=int, default=8500, help="the proxy's port on 127.0.0.1")
    parser.add_argument("--logs", type=Path, help="a folder for logs and the admin socket")
    parser.add_argument(
        "--patience", type=float, default=5.0, help="seconds for readers to leave at a restart"
    )
    options = parser.parse_args()
    asked = threading.Event()
    signal.signal(signal.SIGHUP, lambda number, frame: asked.set())
    signal.signal(signal.SIGTERM, _exit)
    signal.signal(signal.SIGINT, _exit)
    with ExitStack() as stack:
        folder = options.logs or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        try:
            replicas = stack.enter_context(running(options.app, folder, options.port))
            print(f"{replicas.address} with {options.app} replicas; logs in {folder}", flush=True)
            _watch(replicas, asked, options.patience)
        except ReplicaError as error:
            sys.exit(str(error))


def _watch(replicas: Replicas, asked: threading.Event, patience: float) -> None:
    """Replace all replicas when asked, and start again those that have died."""
    while replicas.proxy is not None and replicas.proxy.poll() is None:
        try:
            if asked.is_set():
                asked.clear()
                replicas.roll(patience)
                print("replaced all replicas", flush=True)
            for place in replicas.running:
                if place.process is not None and place.process.poll() is not None:
                    print(f"{place.name} ended with {place.process.returncode}", flush=True)
                    replicas.restart(place.name)
                    print(f"{place.name} started again", flush=True)
        except ReplicaError as error:
            print(error, flush=True)
        time.sleep(0.5)
    raise ReplicaError("HAProxy has ended.")


def _exit(number: int, frame: object) -> None:
    """End everything, once."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit()


if __name__ == "__main__":
    main()
