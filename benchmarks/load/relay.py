"""A TCP relay that makes a network slow: delay, and a limit on bytes a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


@asynccontextmanager
async def slow_network(address: str, delay: float, rate: float) -> AsyncIterator[str]:
    """The address of a relay to `address`, until the block ends. Bytes arrive `delay` seconds late
    in either direction, and at most `rate` of them a second on each connection."""
    parts = urlsplit(address)
    under_way: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            to_server = await asyncio.open_connection(parts.hostname, parts.port)
        except OSError:
            writer.close()
            return
        for ends in ((reader, to_server[1]), (to_server[0], writer)):
            task = asyncio.create_task(_pass_on(*ends, delay, rate))
            under_way.add(task)
            task.add_done_callback(under_way.discard)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(under_way):
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float, rate: float
) -> None:
    """Pass on what comes, each part when it would have arrived, until the end of it."""
    due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def receive() -> None:
        free = 0.0  # when the line has sent what came before
        while True:
            try:
                part = await reader.read(2**14)
            except OSError:
                part = b""
            free = max(free, time.monotonic()) + len(part) / rate
            due.put_nowait((free + delay, part))
            if not part:
                return

    receiver = asyncio.create_task(receive())
    try:
        while True:
            when, part = await due.get()
            await asyncio.sleep(max(0.0, when - time.monotonic()))
            if not part:
                break
            writer.write(part)
            await writer.drain()
    except OSError:  # the other side has gone
        pass
    finally:
        receiver.cancel()
        writer.close()
