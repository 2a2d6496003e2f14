"""Two replicas behind each of the proxies, with a small app in place of the explorer."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from benchmarks.load.replicas import Replicas, running_replicas
from benchmarks.load.serving import ROOT, free_ports
from tests import proxies
from tests.proxies import APP, SECOND_PAGE, Reader, open_page, served_by

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not shutil.which("haproxy"), reason="no haproxy"),
]

OPEN = ("/", "/expression", "/_stcore/health", "/_stcore/host-config")
CLOSED = tuple(
    f"{base}/_stcore/{end}"
    for base in ("", "/lesson")
    for end in ("metrics", "metrics/", "m%65trics", "metrics%0A")
)
CLOSED += ("/_stcore/script-health-check", "/_stcore/agent/mcp")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder with a short path, for HAProxy's socket, and the small app."""
    with tempfile.TemporaryDirectory() as name:
        Path(name, "app.py").write_text(APP)
        Path(name, "pages").mkdir()
        Path(name, "pages", "second.py").write_text(SECOND_PAGE)
        shutil.copytree(ROOT / ".streamlit", Path(name, ".streamlit"))
        yield Path(name)


@pytest.fixture(scope="module")
def replicas(folder: Path) -> Iterator[Replicas]:
    with running_replicas(2, folder, folder, PYTHONPATH=str(ROOT)) as started:
        yield started


@pytest.fixture(params=["haproxy", "nginx", "caddy"])
def address(request: pytest.FixtureRequest, replicas: Replicas, tmp_path: Path) -> Iterator[str]:
    """Each proxy's address in front of the two replicas that run."""
    proxies.need(request.param)
    if request.param == "haproxy":
        yield replicas.address
        return
    ports = [place.port for place in replicas.running]
    with getattr(proxies, request.param)(tmp_path, *ports) as started:
        yield started


def processes(replicas: Replicas) -> set[int]:
    return {place.process.pid for place in replicas.running if place.process is not None}


def name_of(replicas: Replicas, process: int) -> str:
    return next(p.name for p in replicas.running if p.process and p.process.pid == process)


def answers(reader: Reader, seconds: float) -> bool:
    """Whether the reader's page can connect within this time."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        with suppress(OSError):  # refused: nobody listens yet
            if reader.request("/_stcore/health")[0] == 200:
                return True
        time.sleep(0.05)
    return False


def seconds_to_end(connection: ClientConnection) -> float:
    """How long it takes until the connection is closed by the other side."""
    start = time.monotonic()
    with suppress(ConnectionClosed):
        while True:
            connection.recv(10)
    return time.monotonic() - start


def upload(reader: Reader, session: str) -> int:
    """The status of an upload, as Streamlit's page sends it."""
    body = b'--x\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\nabc\r\n--x--\r\n'
    token = reader.cookie("_streamlit_xsrf")
    kind = "multipart/form-data; boundary=x"
    path = f"/_stcore/upload_file/{session}/{secrets.token_hex(8)}"
    return reader.request(path, "PUT", body, X_Xsrftoken=token, Content_Type=kind)[0]


def test_readers_stay_and_their_files_arrive(address: str, replicas: Replicas) -> None:
    served = set()
    for _ in range(16):
        reader = Reader(address)
        assert reader.request("/_stcore/health")[0] == 200
        with reader.connect() as connection:
            opened = open_page(connection)
            assert served_by(reader) == served_by(reader) == opened.process
            assert upload(reader, opened.session) == 204
            assert reader.request(opened.picture)[0] == 200
            served.add(opened.process)
    assert served == processes(replicas)


def test_another_replica_takes_the_readers_of_a_dead_one(address: str, replicas: Replicas) -> None:
    reader = Reader(address)
    reader.request("/_stcore/health")
    token = reader.cookie("_streamlit_xsrf")
    with reader.connect() as connection:
        before = open_page(connection)
        name = name_of(replicas, before.process)
        replicas.kill(name)
        assert seconds_to_end(connection) < 2
    assert answers(reader, 2.0)
    with reader.connect() as connection:
        after = open_page(connection)
        assert after.process != before.process
        assert reader.request(before.picture)[0] == (
            200 if before.picture == after.picture else 404
        )
        assert upload(reader, before.session) == 400
        # Streamlit's token against forged uploads holds at every replica.
        assert reader.cookie("_streamlit_xsrf").split("|")[3] == token.split("|")[3]
        replicas.start(name)
        time.sleep(2.5)  # nginx and Caddy try a replica again after 2 seconds
        assert served_by(reader) == after.process
        assert upload(reader, after.session) == 204


def test_nobody_is_sent_to_a_replica_before_each_of_its_pages_was_opened(
    replicas: Replicas, folder: Path
) -> None:
    slow, other = replicas.running
    replicas.kill(slow.name)
    (folder / "wait").touch()
    replicas.launch(slow.name)
    assert slow.process is not None
    assert other.process is not None
    assert answers(Reader(slow.address), 20.0)  # it could serve readers
    time.sleep(2.5)  # HAProxy has asked meanwhile
    assert {new_reader(replicas) for _ in range(8)} == {other.process.pid}
    (folder / "wait").unlink()
    time.sleep(2.5)
    assert slow.process.pid in {new_reader(replicas) for _ in range(8)}


def new_reader(replicas: Replicas) -> int:
    """The process that serves somebody who comes now."""
    return served_by(Reader(replicas.address))


def test_a_class_behind_one_address_is_let_in(address: str) -> None:
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(Reader(address).connect())


def test_only_these_paths_are_closed(address: str) -> None:
    reader = Reader(address)
    assert {path: reader.request(path)[0] for path in OPEN} == dict.fromkeys(OPEN, 200)
    assert {path: reader.request(path)[0] for path in CLOSED} == dict.fromkeys(CLOSED, 404)


def test_a_foreign_page_is_refused(address: str) -> None:
    """By the proxy, whatever is asked for. All other tests connect as the address's own page."""
    foreign = "https://foreign.example"
    assert Reader(address).request("/_stcore/health", Origin=foreign)[0] == 403
    with pytest.raises(InvalidStatus, match="403"):
        Reader(address).connect(foreign)


def test_one_readers_flood_is_refused_and_another_reader_is_served(replicas: Replicas) -> None:
    flooder, other = Reader(replicas.address), Reader(replicas.address)
    assert other.request("/")[0] == flooder.request("/")[0] == 200
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(flooder.connect())
        with pytest.raises(InvalidStatus, match="429"):
            flooder.connect()
        assert served_by(other)
    for _ in range(600):
        if flooder.request("/_stcore/health")[0] == 429:
            break
    else:
        pytest.fail("600 requests were let in")
    assert other.request("/_stcore/health")[0] == 200


def test_invented_readers_count_by_address(replicas: Replicas) -> None:
    stranger = Reader(replicas.address)
    before = new_readers(replicas)
    for _ in range(2):  # the second time it is known
        stranger.request("/_stcore/health", Cookie=f"reader={secrets.token_hex(18)}")
        invented = f"reader={secrets.token_hex(18)}"
        stranger.request("/_stcore/health", Cookie=invented)
        stranger.request("/_stcore/health", Cookie=invented)
    assert new_readers(replicas) == before + 4


def new_readers(replicas: Replicas) -> int:
    """How many new readers HAProxy has counted for this machine's address."""
    table = replicas.admin("show table addresses")
    return int((table.partition("http_req_rate(60000)=")[2].split() or ["0"])[0])


def test_cookies_are_secure_behind_tls(replicas: Replicas) -> None:
    for scheme, secure in (("http", False), ("https", True)):
        request = urllib.request.Request(
            f"{replicas.address}/_stcore/health", headers={"X-Forwarded-Proto": scheme}
        )
        with urllib.request.urlopen(request) as answer:
            cookies = {c.partition("=")[0]: c for c in answer.headers.get_all("Set-Cookie")}
        assert set(cookies) == {"replica", "reader", "_streamlit_xsrf"}
        assert all(("; Secure" in c) == secure and "; SameSite=" in c for c in cookies.values())
        assert all("; HttpOnly" in cookies[name] for name in ("replica", "reader"))


def test_replacing_all_replicas_loses_no_request(replicas: Replicas) -> None:
    """The readers' connections are closed, one replica after the other, and they find another."""
    readers = [Reader(replicas.address) for _ in range(8)]
    for reader in readers:
        reader.request("/_stcore/health")
    before = processes(replicas)
    done = threading.Event()
    statuses: list[int] = []
    reconnects = [0] * len(readers)

    def read(number: int) -> None:
        """A page: connect, wait for the end of the connection, ask for health, connect again."""
        while not done.is_set():
            statuses.append(readers[number].request("/_stcore/health")[0])
            with readers[number].connect() as connection:
                reconnects[number] += 1
                while not done.is_set():
                    try:
                        connection.recv(0.2)
                    except TimeoutError:
                        statuses.append(readers[number].request("/_stcore/host-config")[0])
                    except ConnectionClosed:
                        break

    threads = [threading.Thread(target=read, args=(number,)) for number in range(len(readers))]
    for thread in threads:
        thread.start()
    replicas.roll()
    time.sleep(0.5)
    open_now = {name: int(row["scur"]) for name, row in replicas.status().items()}
    done.set()
    for thread in threads:
        thread.join()
    assert set(statuses) == {200}
    assert not before & processes(replicas)
    assert all(2 <= count <= 3 for count in reconnects), reconnects
    assert sorted(open_now.values())[0] == 0
    assert min(open_now[place.name] for place in replicas.running) >= 2, open_now


def test_base_path_and_allowed_hosts(folder: Path) -> None:
    settings = {
        "STREAMLIT_SERVER_BASE_URL_PATH": "lesson",
        "STREAMLIT_SERVER_ALLOWED_HOSTS": "*.example.org 127.0.0.1",
        "PYTHONPATH": str(ROOT),
    }
    (folder / "lesson").mkdir()
    with running_replicas(1, folder / "lesson", folder, **settings) as replicas:
        reader = Reader(f"{replicas.address}/lesson")
        assert reader.request("/")[0] == 200
        assert served_by(reader) in processes(replicas)


def test_replicas_are_found_by_name(tmp_path: Path) -> None:
    """As with Docker's name server: one name, whose addresses come and go."""
    with ExitStack() as stack:
        (port,) = free_ports(1)
        for host in ("127.0.0.2", "127.0.0.3"):
            stack.enter_context(proxies.healthy(host, port))
        names = stack.enter_context(proxies.name_server("127.0.0.2"))
        address = stack.enter_context(proxies.haproxy_compose(names.port, port))
        reader = Reader(address)
        assert answers(reader, 5.0)
        assert reader.request("/")[1] == b"127.0.0.2"
        names.addresses = ["127.0.0.2", "127.0.0.3"]
        assert becomes({b"127.0.0.2", b"127.0.0.3"}, lambda: Reader(address))
        assert reader.request("/")[1] == b"127.0.0.2"
        names.addresses = ["127.0.0.3"]
        assert becomes({b"127.0.0.3"}, lambda: reader)


def becomes(bodies: set[bytes], reader: Callable[[], Reader]) -> bool:
    """Whether four requests have these answers, and no others, within 10 seconds."""
    limit = time.monotonic() + 10
    while {reader().request("/")[1] for _ in range(4)} != bodies:
        if time.monotonic() > limit:
            return False
        time.sleep(0.1)
    return True
