"""The servers that the scenarios measure."""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import tempfile
import time
from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.load.crowd import Crowd, run_crowd, visit_every_page
from benchmarks.load.replicas import Replicas, running_replicas
from benchmarks.load.serving import PROCESSORS, ROOT, Server, serving

#: Seconds after the first page until the app has imported what else it needs and tested itself.
_START = 14.0


@dataclass
class Servers:
    """The servers of one command. Scenarios that follow each other share one; those that need
    another kind end it first, so that only one is measured."""

    options: argparse.Namespace
    _kind: object = None
    _server: Any = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def one(self, module: str = "streamlit", **environment: str) -> Server:
        """The app in one process, started as in README.md, each page visited; or the server at
        the address that was given."""
        if self.options.address:
            return Server(self.options.address)
        kind = (module, *environment.items())
        if kind != self._kind:
            self.end()
            self._kind, self._server = kind, self.another(ROOT, module, **environment)
        server: Server = self._server
        return server

    def another(self, root: Path, module: str, **environment: str) -> Server:
        """One more beside the others."""
        log = self.folder() / "log"
        server = self._stack.enter_context(serving(log, module, root, **environment))
        first = time.monotonic()
        asyncio.run(visit_every_page(server))
        time.sleep(max(0.0, first + _START - time.monotonic()))
        return server

    def folders(self) -> dict[str, Path]:
        """The app, by name: that of this checkout and, with `--against`, of another."""
        old = self.options.against
        return ({f"before ({_commit(old)})": old} if old else {}) | {"now": ROOT}

    def beside_each_other(self, module: str = "streamlit") -> dict[str, Server]:
        """Servers of all `folders`, which take turns."""
        self.end()
        return {name: self.another(root, module) for name, root in self.folders().items()}

    def replicas(self, number: int) -> Replicas:
        """So many replicas behind HAProxy."""
        kind = ("replicas", number)
        if kind != self._kind:
            self.end()
            share = str(max(1, PROCESSORS // number))
            started = running_replicas(number, self.folder(), EXPLORER_PROCESSES=share)
            self._server = self._stack.enter_context(started)
            self._kind = kind
        replicas: Replicas = self._server
        return replicas

    def folder(self) -> Path:
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory()))

    def end(self) -> None:
        self._kind = self._server = None
        self._stack.close()


def _commit(folder: Path) -> str:
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() or folder.name


def crowd(servers: Servers, server: Server, readers: int, seconds: float, **more: Any) -> Crowd:
    """A crowd with the warm-up and the seed of the command."""
    seed = more.pop("seed", f"{servers.options.seed} {readers}")
    warm_up = servers.options.warm_up
    coming: Coroutine[Any, Any, Crowd] = run_crowd(
        server, readers, seconds, seed, warm_up=warm_up, **more
    )
    return asyncio.run(coming)
