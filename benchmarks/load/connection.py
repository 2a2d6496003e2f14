"""A tab's WebSocket, which connects again when it is lost as Streamlit's front end does.

Followed are `WebsocketConnection`, `doInitPings` and `App.handleConnectionStateChanged` of
https://github.com/streamlit/streamlit/tree/develop/frontend (version 1.67): two requests find out
whether the server is there; the connection then names the session that was lost, which another
server does not know.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from benchmarks.load.files import Browser, WrongAnswer

#: What the front end requests before it connects.
_PINGS = ("/_stcore/health", "/_stcore/host-config")
#: Seconds between attempts: to connect, to ping; each doubles up to the last.
_DELAY, _PING_DELAY, _LONGEST = 0.5, 0.1, 4.0
#: The token's place if there is none.
_NO_TOKEN = "PLACEHOLDER_AUTH_TOKEN"


class Connection:
    """Passes on the messages of a session, across lost connections.

    `on_message` gets each message, `on_failed` the reason why one could not be read; `on_lost` is
    called when the connection is lost, `on_back` when there is another. `session` is the id that
    the server has told, and the next connection names.
    """

    def __init__(
        self,
        browser: Browser,
        on_message: Callable[[ForwardMsg], None],
        on_failed: Callable[[str], None],
        on_lost: Callable[[], None],
        on_back: Callable[[], object],
    ) -> None:
        self.browser = browser
        self.session = ""
        self._on_message, self._on_failed = on_message, on_failed
        self._on_lost, self._on_back = on_lost, on_back
        self._socket: ClientConnection | None = None
        self._listener: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        return self._socket is not None

    async def open(self) -> None:
        """Connect for the first time. Raises WrongAnswer, OSError or WebSocketException."""
        await self._ping()
        await self._connect()
        self._listener = asyncio.create_task(self._listen())

    async def send(self, message: BackMsg) -> bool:
        """Send a message. False if there is no connection: the front end drops it, too."""
        if self._socket is None:
            return False
        with suppress(ConnectionClosed):
            await self._socket.send(message.SerializeToString())
            return True
        return False

    async def close(self) -> None:
        """Disconnect for good."""
        if self._listener is not None:
            self._listener.cancel()
        if self._socket is not None:
            await self._socket.close()
            self._socket = None

    async def _ping(self) -> None:
        await asyncio.to_thread(lambda: [self.browser.get(path) for path in _PINGS])

    async def _connect(self) -> None:
        address = self.browser.address
        tokens = ["streamlit", self.browser.token or _NO_TOKEN, self.session]
        self._socket = await connect(
            f"{address.replace('http', 'ws', 1)}/_stcore/stream",
            origin=address,  # type: ignore[arg-type]
            subprotocols=[token for token in tokens if token],  # type: ignore[misc]
            additional_headers={"Cookie": self.browser.cookie_header()},
            max_size=None,
            proxy=None,
        )

    async def _listen(self) -> None:
        while True:
            try:
                assert self._socket is not None
                async for frame in self._socket:
                    assert isinstance(frame, bytes)
                    self._on_message(ForwardMsg.FromString(frame))
            except (ConnectionClosed, OSError):
                pass
            except Exception as error:
                return self._on_failed(f"{type(error).__name__}: {error}")
            self._socket = None
            self._on_lost()
            await self._connect_again()
            self._on_back()

    async def _connect_again(self) -> None:
        """Try until there is a connection."""
        attempt = 0
        while self._socket is None:
            longest = min(_LONGEST, _DELAY * 2**attempt)
            await asyncio.sleep(random.uniform(longest / 2, longest))
            attempt += 1
            await self._ping_until_answered()
            with suppress(OSError, WebSocketException, TimeoutError):
                await self._connect()

    async def _ping_until_answered(self) -> None:
        delay = _PING_DELAY
        while True:
            try:
                return await self._ping()
            except WrongAnswer:
                await asyncio.sleep(delay)
                delay = min(_LONGEST, 2 * delay) * random.uniform(0.7, 1)
