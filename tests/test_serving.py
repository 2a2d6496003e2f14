"""The server, from `streamlit run app.py` on: what it asks outside, and whom it lets in."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from benchmarks.load.serving import serving

FOREIGN, OWN = "https://foreign.example", "https://class.example"


class Running(NamedTuple):
    port: int
    #: One entry for each connection that the server opened to the outside.
    asked: list[str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that nobody has opened a page of. What it asks outside goes to a proxy that never
    answers, as on a machine whose outgoing packets are dropped."""
    asked: list[str] = []
    log = tmp_path_factory.mktemp("server") / "log"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        threading.Thread(target=keep_silent, args=(silent, asked), daemon=True).start()
        proxy = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environment = dict.fromkeys(("http_proxy", "https_proxy"), proxy)
        environment["STREAMLIT_SERVER_CORS_ALLOWED_ORIGINS"] = OWN
        with serving(log, **environment) as one:
            asked.clear()  # for the address that Streamlit prints when it starts
            yield Running(int(one.address.rpartition(":")[2]), asked)


def keep_silent(listener: socket.socket, asked: list[str]) -> None:
    kept = []
    while True:
        try:
            one, address = listener.accept()
        except OSError:  # closed, at the end
            return
        asked.append(str(address))
        kept.append(one)


def shake_hands(port: int, origin: str, **more: str) -> int:
    """The status with which the server answers a WebSocket's request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        "Origin": origin,
        **more,
    }
    connection.request("GET", "/_stcore/stream", headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.parametrize(
    ("origin", "status"), [(FOREIGN, 403), (OWN, 101), ("http://localhost:1", 101)]
)
def test_no_origin_makes_the_server_ask_outside(server: Running, origin: str, status: int) -> None:
    assert shake_hands(server.port, origin) == status
    assert server.asked == []
