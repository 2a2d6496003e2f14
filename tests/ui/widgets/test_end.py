"""The app ends soon, and whole, while programs run."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.load.serving import Server, family, serving
from benchmarks.load.tab import Tab
from explorer.sandbox.options import ServerOptions
from tests.sandbox.test_calls import eventually

pytestmark = pytest.mark.skipif(not ServerOptions.fork, reason="needs Linux")

ENDLESS = "import torch\nx = torch.full((999, 999), {}.0)\nwhile True:\n    y = x @ x\n"


def _gone(pid: int) -> bool:
    """Whether a process has ended, waited for or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def _run_two_programs(server: Server) -> list[int]:
    """Two readers whose programs run; the processes that this takes."""
    tabs = [Tab(server.address), Tab(server.address)]
    for number, tab in enumerate(tabs):
        await tab.open("expression", program=ENDLESS.format(number))
    limit = time.monotonic() + 150
    while len(family(server.pid)) < 5 and time.monotonic() < limit:  # server, zygote, children
        await asyncio.sleep(0.02)
    return family(server.pid)


@pytest.mark.thorough
def test_a_signal_ends_the_app_and_its_programs(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "log", EXPLORER_SECONDS="60") as server,
        ThreadPoolExecutor(1) as apart,  # browser tests leave an event loop in this thread
    ):
        pids = apart.submit(asyncio.run, _run_two_programs(server)).result()
        assert len(pids) >= 5
        os.kill(server.pid, signal.SIGTERM)
        # Half a second; Python alone would wait a minute for the programs.
        assert eventually(lambda: all(map(_gone, pids)), seconds=20)
    assert "Traceback" not in (tmp_path / "log").read_text()
