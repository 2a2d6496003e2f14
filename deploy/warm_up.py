"""Open every page of a replica once, so that its first readers need not wait for imports.

python -m deploy.warm_up http://127.0.0.1:8501
"""

from __future__ import annotations

import os
import socket
import sys
from urllib.parse import urlsplit

from streamlit import config
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

#: Seconds that one page may take.
PATIENCE = 60.0


def warm_up(address: str) -> None:
    """Open the home page, then each page that its navigation names."""
    at = urlsplit(address)
    # The app refuses sessions under other host names than these, if there are any.
    named = os.environ.get("STREAMLIT_SERVER_ALLOWED_HOSTS", "").split()
    host: str = [*named, *config.get_option("server.allowedHosts"), "localhost"][0]
    with connect(
        f"ws://{host.replace('*', 'any')}{at.path}/_stcore/stream",
        sock=socket.create_connection((at.hostname or "", at.port or 80)),
        subprotocols=[Subprotocol("streamlit")],
        max_size=None,
    ) as connection:
        pages = _open_page(connection, "")
        for page in sorted(pages):
            _open_page(connection, page)


def _open_page(connection: ClientConnection, page: str) -> set[str]:
    """Request a page and wait for the end of its run. Returns the pages of the navigation."""
    request = BackMsg()
    request.rerun_script.page_script_hash = page
    connection.send(request.SerializeToString())
    pages: set[str] = set()
    while True:
        message = ForwardMsg()
        message.ParseFromString(connection.recv(PATIENCE, decode=False))
        pages.update(page.page_script_hash for page in message.navigation.app_pages)
        if message.WhichOneof("type") == "script_finished":
            return pages


if __name__ == "__main__":
    warm_up(sys.argv[1])
