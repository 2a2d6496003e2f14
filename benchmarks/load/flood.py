"""What readers notice of one client that floods the server: a section of LOAD.md.

The client is a process of its own with a low priority, as if it were another machine; meanwhile
readers use the app as always.
"""

from __future__ import annotations

import asyncio
import io
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.sharedctypes import Synchronized
from typing import TypeAlias

from PIL import Image
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.load import report
from benchmarks.load.crowd import median_and_p95
from benchmarks.load.servers import Servers, crowd
from benchmarks.load.tab import Tab

#: Readers beside the client, and the 95th percentile of their times that is still good.
_READERS, LIMIT = 10, 1.5
#: What a client requests again and again.
KINDS = {
    "page": "the page as it is",
    "programs": "new programs",
    "uploads": "uploads of 20 megapixels",
    "sessions": "new programs in 40 sessions",
    "parts": "the part of a page with the graph, in 40 sessions",
}
#: Kinds for which a client has many sessions.
_MANY = ("sessions", "parts")
#: Runs a second; the sessions of a client that has many.
RATE, SESSIONS = 70.0, 40
#: Seconds for which a client floods before the block begins, and in which it must have started.
_LEAD, _START = 3.0, 120.0
_PICTURE = (5000, 4000)
Counter: TypeAlias = "Synchronized[int]"


def measure(servers: Servers, seconds: float) -> str:
    """Readers without a flood, and with one of each kind."""
    server = servers.one()
    rows, crowds = [], []
    for kind in ("", *(servers.options.floods or KINDS)):
        with flooding(server.address, int(bool(kind)), kind) as sent:
            before = sent.value
            one = crowd(servers, server, _READERS, seconds)
            requests = (sent.value - before) / (one.seconds + servers.options.warm_up)
        longest = max((result.seconds for result in one.done), default=float("nan"))
        times = [f"{number:.2f}" for number in (*median_and_p95(one.done), longest)]
        errors, share = str(len(one.errors)), f"{one.server:.2f}" if server.ours else ""
        name = KINDS.get(kind, "none")
        rows.append([name, f"{requests:.0f}", str(len(one.done)), *times, errors, share])
        print(rows[-1], flush=True)
        crowds.append(one)
    head = ["flood", "requests/s", "readers' actions", "median, s", "95th percentile, s"]
    head += ["longest, s", "errors", "server's processors"]
    text = (
        f"{_READERS} readers of the mix, and one client that requests {RATE:g} runs of a page a "
        f"second. The readers' 95th percentile should stay below {LIMIT:g} s."
    )
    return "\n\n".join([text, report.table(head, rows), report.errors_list(crowds)])


class _Client(Tab):
    """A tab that stops looking at what it receives once it floods."""

    flooding = False

    def _receive(self, message: ForwardMsg) -> None:
        if not self.flooding or message.WhichOneof("type") == "file_urls_response":
            super()._receive(message)

    async def flood(self, kind: str, rate: float, sent: Counter) -> None:
        """Request runs until the process is ended, and count them in `sent`."""
        await self.open("feature_maps" if kind == "uploads" else "expression")
        await self.wait_until(lambda tab: None, timeout=_START)
        part = self.fragment(self.widget("bidi_component", "graph")) if kind == "parts" else ""
        self.flooding = True
        start, count = time.monotonic(), 0
        while True:
            if kind == "uploads":
                await self.upload("picture-file", f"{count}.png", _picture() + str(count).encode())
            elif kind == "parts":
                await self._request_run(fragment=part)
            else:
                if kind != "page":
                    self.set_value("text_area", "program", f"print({count}, {id(self)})")
                await self._request_run()
            count += 1
            with sent:
                sent.value += 1
            await asyncio.sleep(max(0.0, start + count / rate - time.monotonic()))


@cache
def _picture() -> bytes:
    """A picture that is small to send and large to decode."""
    file = io.BytesIO()
    Image.new("RGB", _PICTURE, (9, 99, 199)).save(file, "PNG", compress_level=1)
    return file.getvalue()


async def _flood(address: str, kind: str, sent: Counter) -> None:
    tabs = SESSIONS if kind in _MANY else 1
    await asyncio.gather(*(_Client(address).flood(kind, RATE / tabs, sent) for _ in range(tabs)))


def _run_client(address: str, kind: str, sent: Counter) -> None:
    os.nice(10)
    asyncio.run(_flood(address, kind, sent))


@contextmanager
def flooding(address: str, clients: int, kind: str) -> Iterator[Counter]:
    """Let `clients` processes request runs until the block ends; the number of requests so far."""
    context = multiprocessing.get_context("spawn")
    sent: Counter = context.Value("l")
    processes = [
        context.Process(target=_run_client, args=(address, kind, sent)) for _ in range(clients)
    ]
    for process in processes:
        process.start()
    try:
        limit = time.monotonic() + _START
        while clients and not sent.value and time.monotonic() < limit:
            time.sleep(0.1)
        time.sleep(_LEAD if clients else 0)
        yield sent
        assert all(process.is_alive() for process in processes), "a client has given up"
    finally:
        for process in processes:
            process.kill()
            process.join()
