"""Whether this server is ready for readers: HAProxy asks, and sends nobody here before.

A server is ready once each of its pages was opened, so that its first reader need not wait for
imports. The first who asks has them opened; where nobody asks, as on a reader's own computer,
nothing is done.
"""

from __future__ import annotations

import asyncio
import logging
import time

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from streamlit import config
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from explorer import limits


class _Readiness:
    """Opens every page when it is first asked; again after a pause, if that failed."""

    def __init__(self) -> None:
        self._opening: asyncio.Task[None] | None = None
        self._not_before = 0.0  # of `time.monotonic`

    async def answer(self, request: Request) -> PlainTextResponse:
        """200 once every page was opened, 503 before."""
        task, now = self._opening, time.monotonic()
        has_failed = task is not None and task.done() and (task.cancelled() or task.exception())
        if task is None or (has_failed and now >= self._not_before):
            host, port = request.scope["server"]  # where this request has arrived
            base = request.url.path.removesuffix("/ready")
            task = self._opening = asyncio.create_task(_open_pages(host, port, base))
            task.add_done_callback(self._note_end)
            has_failed = False
        if has_failed or not task.done():
            return PlainTextResponse("not yet\n", 503)
        return PlainTextResponse("ready\n")

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._not_before = time.monotonic() + limits.REOPEN_SECONDS
        if not task.cancelled() and (error := task.exception()):
            logging.getLogger(__name__).error("a page could not be opened", exc_info=error)


def ready_route() -> Route:
    """`/ready`, below the base path if there is one."""
    base = config.get_option("server.baseUrlPath").strip("/")
    return Route(f"/{base}/ready" if base else "/ready", _Readiness().answer)


async def _open_pages(host: str, port: int, base: str) -> None:
    """Open the home page, then each page that its navigation names."""
    # The app refuses sessions under other host names than these, if there are any.
    name = [*config.get_option("server.allowedHosts"), "localhost"][0].replace("*", "any")
    async with connect(
        f"ws://{name}{base}/_stcore/stream",
        host=host,
        port=port,
        subprotocols=[Subprotocol("streamlit")],
        max_size=None,
        proxy=None,
    ) as connection:
        for page in sorted(await _open_page(connection, "")):
            await _open_page(connection, page)


async def _open_page(connection: ClientConnection, page: str) -> set[str]:
    """Request a page and wait for the end of its run. Returns the pages of the navigation."""
    request = BackMsg()
    request.rerun_script.page_script_hash = page
    await connection.send(request.SerializeToString())
    pages: set[str] = set()
    async with asyncio.timeout(limits.FIRST_RUN_SECONDS):
        async for frame in connection:
            assert isinstance(frame, bytes)
            message = ForwardMsg.FromString(frame)
            pages.update(page.page_script_hash for page in message.navigation.app_pages)
            if message.WhichOneof("type") == "script_finished":
                return pages
    raise ConnectionError("the server closed the connection")
