"""What is set before the server answers its first request."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from streamlit import cli_util, config, net_util
from streamlit.web.server import server_util
from streamlit.web.server.server import server_address_is_unix_socket

from explorer.sandbox.walls import missing

#: Seconds from here until the server listens, and the browser may ask it.
_UNTIL_OPEN = 0.5
_NOT_FRAMED = (
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
)
#: Headers with which a proxy passes on where a reader is.
_FORWARDED = (
    "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Forwarded", "Via",
)  # fmt: skip


@asynccontextmanager
async def prepare_server(_app: object) -> AsyncIterator[None]:
    """Let no request make the server ask anything outside, and open the browser.

    Of a WebSocket with a foreign Origin, Streamlit compares the Origin with the server's public
    address, for which it asks an outside service: in the event loop, for two seconds where that is
    not answered, each time anew. Nothing here is reached under that address that is not named in
    `browser.serverAddress` or `server.corsAllowedOrigins`.
    """
    net_util.get_external_ip = lambda: None
    asyncio.get_running_loop().call_later(_UNTIL_OPEN, _open_browser)
    yield


class NotFramed:
    """Lets no other page show this one in a frame, where a reader would press its buttons without
    seeing them. (Middleware of ASGI.)"""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_with_header(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_NOT_FRAMED]
            await send(message)

        await self._app(scope, receive, send_with_header if scope["type"] == "http" else send)


class LocalMetrics:
    """Shows Streamlit's metrics, which tell about readers, to this machine alone. (Middleware of
    ASGI.)"""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        app = self._app
        if scope["type"] == "http" and "/_stcore/metrics" in scope["path"]:
            host, _ = scope["client"] or ("", 0)
            if not is_local(host, Headers(scope=scope)):
                app = PlainTextResponse("Only for this server's own computer.\n", 403)
        await app(scope, receive, send)


def middleware() -> list[Middleware]:
    """Without the kernel's walls a press may run a program with its reader's rights."""
    return [Middleware(LocalMetrics), *([Middleware(NotFramed)] if missing() else [])]


def is_local(address: str, headers: Mapping[str, str]) -> bool:
    """Whether a request comes from this machine, and no proxy passes on what others send.

    Its Host is this machine too: a name of somebody else may lead here, in a page that the reader
    has opened elsewhere.
    """
    return (
        not any(name in headers for name in _FORWARDED)
        and _is_loopback(address)
        and _is_loopback(_host_name(headers.get("Host", "localhost")))
    )


def _host_name(host: str) -> str:
    """A Host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name.removeprefix("::ffff:")).is_loopback
    except ValueError:
        return False


def _open_browser() -> None:
    """As Streamlit does where no `st.App` serves: it leaves this to the app, if there is one."""
    if not config.get_option("server.headless") and not server_address_is_unix_socket():
        cli_util.open_browser(server_util.get_url(_address()))


def _address() -> str:
    """Where the operator's own browser finds the app."""
    for option in ("browser.serverAddress", "server.address"):
        if config.is_manually_set(option):
            return server_util.get_display_address(config.get_option(option))
    return "localhost"
