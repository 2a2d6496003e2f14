"""A full line: who is turned away, and who is not."""

import selectors
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from explorer.sandbox import wire
from explorer.sandbox.server import MOST_OF_ONE, MOST_WAITING, JobHeader, Server

pytestmark = pytest.mark.fast


class Busy:
    """A house without a free processor."""

    processors = most = 0


class Reader:
    """A channel that keeps what it was told."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.finished = False

    def send(self, frame: bytes) -> None:
        self.frames.append(frame)

    def finish(self) -> None:
        self.finished = True

    def is_refused(self) -> bool:
        return self.finished and self.frames[-1][4] == wire.ERROR


@pytest.fixture
def server() -> Iterator[Server]:
    ends = socket.socketpair()
    with selectors.DefaultSelector() as selector, socket.socket() as listener:
        yield Server(selector, listener, ends[0], "token", Busy())  # type: ignore[arg-type]
    for end in ends:
        end.close()


def ask(server: Server, reader: str) -> Reader:
    channel: Any = Reader()
    server._asked(channel, JobHeader("run", 1, reader), wire.REQUEST, b"null")
    return channel


def test_one_reader_fills_only_a_part(server: Server) -> None:
    mine = [ask(server, "a") for _ in range(MOST_OF_ONE + 3)]
    assert [job.is_refused() for job in mine] == [False] * MOST_OF_ONE + [True] * 3


def test_a_newcomer_takes_the_place_of_who_fills_the_line(server: Server) -> None:
    crowd = [ask(server, f"crowd {number % 15}") for number in range(MOST_WAITING)]
    assert not any(job.is_refused() for job in crowd)
    newcomers = [ask(server, f"newcomer {number}") for number in range(3)]
    assert not any(job.is_refused() for job in newcomers)
    assert sum(job.is_refused() for job in crowd) == len(newcomers)


def test_where_all_wait_with_one_the_newcomer_is_turned_away(server: Server) -> None:
    crowd = [ask(server, f"reader {number}") for number in range(MOST_WAITING)]
    assert ask(server, "newcomer").is_refused()
    assert not any(job.is_refused() for job in crowd)
