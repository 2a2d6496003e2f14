"""Clients that request runs without a pause, each in a process of its own."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.sharedctypes import Synchronized
from typing import TypeAlias

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.load.tab import Tab

#: What a client requests again and again.
KINDS = ("page", "programs")
#: Seconds for which the clients flood before the block begins, and in which they must have started.
_LEAD, _START = 5.0, 120.0
Counter: TypeAlias = "Synchronized[int]"


class _Client(Tab):
    """A tab that stops looking at what it receives once it floods."""

    flooding = False

    def _receive(self, message: ForwardMsg) -> None:
        if not self.flooding:
            super()._receive(message)

    async def flood(self, rate: float, kind: str, sent: Counter) -> None:
        """Request runs until the connection is lost, and count them in `sent`."""
        await self.open("expression")
        await self.wait_until(lambda tab: None)
        self.flooding = True
        start, count = time.monotonic(), 0
        while True:
            if kind == "programs":
                self.set_value("text_area", "program", f"print({count})")
            await self._request_run()
            count += 1
            with sent:
                sent.value += 1
            await asyncio.sleep(max(0.0, start + count / rate - time.monotonic()))


def _run_client(address: str, rate: float, kind: str, sent: Counter) -> None:
    os.nice(10)
    asyncio.run(_Client(address).flood(rate, kind, sent))


@contextmanager
def flooding(address: str, clients: int, rate: float, kind: str) -> Iterator[Counter]:
    """Let `clients` processes request runs until the block ends; the number of requests so far."""
    context = multiprocessing.get_context("spawn")
    sent: Counter = context.Value("l")
    processes = [
        context.Process(target=_run_client, args=(address, rate, kind, sent))
        for _ in range(clients)
    ]
    for process in processes:
        process.start()
    try:
        limit = time.monotonic() + _START
        while sent.value < clients * rate * _LEAD and time.monotonic() < limit:
            time.sleep(0.1)
        yield sent
        assert all(process.is_alive() for process in processes), "a client has given up"
    finally:
        for process in processes:
            process.kill()
            process.join()
