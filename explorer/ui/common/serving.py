"""What is set before the server answers its first request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streamlit import cli_util, config, net_util
from streamlit.web.server import server_util
from streamlit.web.server.server import server_address_is_unix_socket

#: Seconds from here until the server listens, and the browser may ask it.
_UNTIL_OPEN = 0.5


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
