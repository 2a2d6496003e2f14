"""The proxies of deploy/, started in front of given replicas, and what a reader's browser does."""

from __future__ import annotations

import http.cookiejar
import http.server
import os
import shutil
import socket
import socketserver
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from benchmarks.load.serving import ROOT, end, free_ports, launch

DEPLOY = ROOT / "deploy"
#: A page that says which process runs it, with an upload and a picture. It starts in a second.
APP = """
import os
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

if get_script_run_ctx(suppress_warning=True) is None:
    from explorer.ui.server.readiness import ready_route

    app = st.App(__file__, routes=[ready_route()])
else:
    st.text(f"process {os.getpid()}")
    st.file_uploader("File")
    st.image(bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
        "3a7e9b550000000a49444154789c636000000002000148afa4710000000049454e44ae426082"
    ))
"""
#: Another, whose run lasts as long as there is a file "wait" beside app.py.
SECOND_PAGE = """
import os
import time

while os.path.exists("wait"):
    time.sleep(0.05)
"""


@dataclass
class Reader:
    """A browser's cookies, and what it requests with them."""

    address: str
    cookies: http.cookiejar.CookieJar = field(default_factory=http.cookiejar.CookieJar)

    def request(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes]:
        """The answer's status and body."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.address + path, body, names, method=method)
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))
        try:
            with opener.open(request, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def cookie(self, name: str) -> str:
        return next((c.value or "" for c in self.cookies if c.name == name), "")

    def connect(self, origin: str = "") -> ClientConnection:
        """A page's WebSocket; the page is at `origin`, by default at the address itself."""
        header = "; ".join(f"{c.name}={c.value}" for c in self.cookies)
        url = self.address.replace("http", "ws", 1) + "/_stcore/stream"
        return connect(
            url,
            subprotocols=[Subprotocol("streamlit")],
            additional_headers={"Cookie": header},
            origin=Origin(origin or self.address),
        )


@dataclass(frozen=True)
class Opened:
    """What a run of the page sent."""

    process: int
    session: str
    picture: str


def open_page(connection: ClientConnection) -> Opened:
    """Request the page's run and wait for its end."""
    request = BackMsg()
    request.rerun_script.query_string = ""
    connection.send(request.SerializeToString())
    process, session, picture = 0, "", ""
    while True:
        message = ForwardMsg()
        message.ParseFromString(connection.recv(20, decode=False))
        element = message.delta.new_element
        session = message.new_session.initialize.session_id or session
        if element.text.body.startswith("process "):
            process = int(element.text.body.split()[1])
        if element.imgs.imgs:
            picture = element.imgs.imgs[0].url
        if message.WhichOneof("type") == "script_finished":
            return Opened(process, session, picture)


def served_by(reader: Reader) -> int:
    """The process that runs the reader's pages."""
    with reader.connect() as connection:
        return open_page(connection).process


@contextmanager
def nginx(folder: Path, first: int, second: int) -> Iterator[str]:
    """nginx with deploy/nginx.conf in front of two ports; gives its address."""
    (port,) = free_ports(1)
    site = (DEPLOY / "nginx.conf").read_text().replace("listen 80;", f"listen 127.0.0.1:{port};")
    site = site.replace("8501", str(first)).replace("8502", str(second))
    (folder / "site.conf").write_text(site)
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{place}_temp_path {folder}/{place}; " for place in places)
    whole = "daemon off; master_process off; worker_rlimit_nofile 4096; "
    whole += f"pid {folder}/pid; events {{ worker_connections 2048; }} "
    whole += f"http {{ access_log off; {paths} include {folder}/site.conf; }}"
    (folder / "nginx.conf").write_text(whole)
    errors = folder / "errors"
    command = ["nginx", "-c", str(folder / "nginx.conf"), "-e", str(errors)]
    with _running(command, port, folder):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def caddy(folder: Path, first: int, second: int) -> Iterator[str]:
    """Caddy with deploy/Caddyfile in front of two ports, without TLS; gives its address."""
    (port,) = free_ports(1)
    site = (DEPLOY / "Caddyfile").read_text()
    site = site.replace("autograd.example.org", f"http://127.0.0.1:{port}").replace("; Secure", "")
    site = site.replace("8501", str(first)).replace("8502", str(second))
    (folder / "Caddyfile").write_text(f"{{\n\tadmin off\n}}\n{site}")
    command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    with _running(command, port, folder):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def haproxy_compose(names: int, port: int) -> Iterator[str]:
    """HAProxy with deploy/haproxy-compose.cfg, in front of `app.test` as the name server on the
    port `names` knows it; gives its address."""
    (own,) = free_ports(1)
    with tempfile.TemporaryDirectory() as folder:
        settings = {"BIND": f"127.0.0.1:{own}", "ADMIN_SOCKET": f"{folder}/admin"}
        settings |= {"RESOLVER": f"127.0.0.1:{names}", "APP": f"app.test:{port}"}
        files = ["-f", str(DEPLOY / "haproxy.cfg"), "-f", str(DEPLOY / "haproxy-compose.cfg")]
        with _running(["haproxy", "-db", *files], own, Path(folder), **settings):
            yield f"http://127.0.0.1:{own}"


@contextmanager
def healthy(host: str, port: int) -> Iterator[None]:
    """A server whose answer to everything is its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(host)))
            self.end_headers()
            self.wfile.write(host.encode())

        def log_message(self, format: str, *values: object) -> None:
            pass

    with http.server.ThreadingHTTPServer((host, port), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield
        finally:
            server.shutdown()


@dataclass
class NameServer:
    """Answers every question for IPv4 with these addresses, and no other question."""

    port: int
    addresses: list[str]


@contextmanager
def name_server(*addresses: str) -> Iterator[NameServer]:
    """A name server on a free port of 127.0.0.1."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            query, connection = self.request
            end = query.index(b"\0", 12) + 5
            kind = int.from_bytes(query[end - 4 : end - 2], "big")
            found = list(known.addresses) if kind == 1 else []
            records = b"".join(
                b"\xc0\x0c\0\x01\0\x01\0\0\0\x01\0\x04" + socket.inet_aton(a) for a in found
            )
            head = query[:2] + b"\x81\x80\0\x01" + len(found).to_bytes(2, "big") + b"\0\0\0\0"
            connection.sendto(head + query[12:end] + records, self.client_address)

    with socketserver.UDPServer(("127.0.0.1", 0), Handler) as server:
        known = NameServer(server.server_address[1], list(addresses))
        threading.Thread(target=server.serve_forever).start()
        try:
            yield known
        finally:
            server.shutdown()


def need(program: str) -> None:
    """Skip the test where a program is missing."""
    if not shutil.which(program):
        pytest.skip(f"no {program}")


@contextmanager
def _running(command: list[str], port: int, folder: Path, **settings: str) -> Iterator[None]:
    """Run a proxy until the block ends; it writes nowhere else."""
    log = folder / "log"
    environment = os.environ | {"HOME": str(folder), "XDG_DATA_HOME": str(folder)} | settings
    process = launch(command, log, environment, folder)
    try:
        limit = time.monotonic() + 10
        while process.poll() is None and time.monotonic() < limit:
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.05)
        else:
            raise RuntimeError(log.read_text())
        yield
    finally:
        end(process)
