"""What travels between reader, server and child: frames of JSON, each with a kind and a length.

A frame is its length (4 bytes, big-endian), one byte of kind, and JSON. One conversation is
HELLO and REQUEST one way; then any number of WAIT, STARTED, any number of PROGRESS, and one
ANSWER or ERROR the other way. `bytes` anywhere in a message travel as base64. Never pickle:
what comes from a child was made by a stranger's program.
"""

from __future__ import annotations

import base64
import binascii
import json
import socket
from collections.abc import Iterator
from typing import Any

HELLO, REQUEST, WAIT, STARTED, PROGRESS, ANSWER, ERROR = b"HQWSPAE"

#: No message may be larger, in bytes: an uploaded image of 25 MB fits as base64.
LIMIT = 36 * 2**20

_HEAD = 5


class TooLarge(ValueError):
    """A message has more than `LIMIT` bytes."""


class Unreadable(ValueError):
    """What arrived is no message."""


def pack(kind: int, body: bytes = b"null") -> bytes:
    """A frame ready to send. Raises TooLarge."""
    if len(body) > LIMIT:
        raise TooLarge(f"{len(body):,} bytes where {LIMIT:,} are allowed")
    return len(body).to_bytes(4, "big") + bytes([kind]) + body


def dump(message: Any) -> bytes:
    """JSON of what is plain already, and of bytes."""
    return json.dumps(message, default=_bytes_to_plain).encode()


def load(body: bytes) -> Any:
    """What `dump` was given. Raises Unreadable."""
    try:
        return json.loads(body, object_hook=_bytes_from_plain)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error


class Inbox:
    """Collects bytes as they come and gives out whole frames. A frame that is too large raises
    TooLarge as soon as its length is known."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        self._data += data

    def frames(self) -> Iterator[tuple[int, bytes]]:
        while len(self._data) >= _HEAD:
            end = _HEAD + int.from_bytes(self._data[:4], "big")
            if end - _HEAD > LIMIT:
                raise TooLarge(f"{end - _HEAD:,} bytes where {LIMIT:,} are allowed")
            if len(self._data) < end:
                return
            kind, body = self._data[4], bytes(self._data[_HEAD:end])
            del self._data[:end]
            yield kind, body


def receive(connection: socket.socket) -> tuple[int, bytes] | None:
    """The next frame of a blocking connection, or None where it ended.

    Raises TooLarge, and TimeoutError as the connection's own time limit says.
    """
    head = _exactly(connection, _HEAD)
    if head is None:
        return None
    size = int.from_bytes(head[:4], "big")
    if size > LIMIT:
        raise TooLarge(f"{size:,} bytes where {LIMIT:,} are allowed")
    body = _exactly(connection, size)
    return None if body is None else (head[4], body)


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        try:
            piece = connection.recv(min(size - len(data), 2**20))
        except ConnectionError:
            return None
        if not piece:
            return None
        data += piece
    return bytes(data)


def _bytes_to_plain(value: Any) -> dict[str, str]:
    if isinstance(value, bytes | bytearray | memoryview):
        return {"$bytes": base64.b64encode(value).decode()}
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _bytes_from_plain(value: dict[str, Any]) -> Any:
    if value.keys() == {"$bytes"}:
        try:
            return base64.b64decode(value["$bytes"])
        except (TypeError, binascii.Error):
            return value
    return value
