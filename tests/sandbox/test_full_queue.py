"""A full queue: which requests are refused, and which are not."""

import selectors
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from explorer import limits
from explorer.sandbox import wire
from explorer.sandbox.messages import Task, limits_of
from explorer.sandbox.server import Request, Server

pytestmark = pytest.mark.fast


class BusyPool:
    """A pool without a free processor."""

    processors = max_children = 0


class NoScratch:
    """Nobody writes anything."""

    def is_too_full(self, pid: int) -> bool:
        return False

    def drop(self, pid: int) -> None:
        pass


class ReaderConnection:
    """A connection that keeps the frames sent to it."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.finished = False

    def send(self, frame: bytes) -> None:
        self.frames.append(frame)

    def finish(self) -> None:
        self.finished = True

    def is_refused(self) -> bool:
        return self.finished and self.frames[-1][4] == wire.FAILED


@pytest.fixture
def server() -> Iterator[Server]:
    ends = socket.socketpair()
    with selectors.DefaultSelector() as selector, socket.socket() as listener:
        pool: Any = BusyPool()
        scratch: Any = NoScratch()
        yield Server(selector, listener, ends[0], "token", pool, 2.0, scratch)
    for end in ends:
        end.close()


def send_request(server: Server, reader: str) -> ReaderConnection:
    connection: Any = ReaderConnection()
    request = Request(connection, reader, Task("run", b"", 1), limits_of("run"))
    server._receive_request(request, wire.REQUEST, bytearray(b"null"))
    return connection


def test_one_reader_can_fill_only_a_part_of_the_queue(server: Server) -> None:
    requests = [send_request(server, "a") for _ in range(limits.WAITING_OF_ONE + 3)]
    refused = [request.is_refused() for request in requests]
    assert refused == [False] * limits.WAITING_OF_ONE + [True] * 3


def test_a_newcomer_takes_a_place_from_the_reader_with_most_requests(server: Server) -> None:
    requests = [send_request(server, f"reader {number % 15}") for number in range(limits.WAITING)]
    assert not any(request.is_refused() for request in requests)
    newcomers = [send_request(server, f"newcomer {number}") for number in range(3)]
    assert not any(request.is_refused() for request in newcomers)
    assert sum(request.is_refused() for request in requests) == len(newcomers)


def test_if_every_reader_has_one_request_the_newcomer_is_refused(server: Server) -> None:
    requests = [send_request(server, f"reader {number}") for number in range(limits.WAITING)]
    assert send_request(server, "newcomer").is_refused()
    assert not any(request.is_refused() for request in requests)
