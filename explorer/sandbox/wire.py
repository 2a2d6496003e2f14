"""The wire between app, server and child: length-prefixed frames of JSON, and of raw bytes.

A frame is its length (4 bytes, big-endian), one byte for its kind, and JSON. The caller sends
HEADER and REQUEST, and STOP if the job shall end early; the other side sends any number of WAIT,
then STARTED, any number of PROGRESS and PART, which is what there is of an answer, and one ANSWER
or ERROR; or at any time FAILED, with the reason why the server has no answer. A child sends STOP
back once it has noticed it. In a live run the caller may send NEXT, with one more request, after
each ANSWER, and gets the same again, until either side closes the connection. `bytes` anywhere in
a message are sent as base64. Never pickle: an untrusted program may have written what a child
sends.

Weights are too large for that. DATA frames hold raw bytes, `CHUNK` of them at most: the caller's
file, after STARTED, of the length that its HEADER says; and what a child sends before its ANSWER,
of at most the length that the caller has allowed.

The app and the children use blocking sockets (`FrameReader`), the server `Connection`. What the
messages say is in messages.py.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import selectors
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from explorer import limits

HEADER, REQUEST, NEXT, STOP, WAIT, STARTED = b"HQNXWS"
PROGRESS, PART, ANSWER, ERROR, FAILED, DATA = b"PTAEFD"

#: The most bytes in one frame of raw data.
CHUNK = 2**20

_PREFIX = 5
_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class MessageTooLarge(ValueError):
    """A message has more bytes than are allowed."""


class InvalidMessage(ValueError):
    """The bytes received are not a message."""


def make_frame(kind: int, body: bytes | bytearray = b"null", limit: int = limits.MESSAGE) -> bytes:
    """A frame ready to send. Raises MessageTooLarge."""
    check_size(len(body), limit)
    return len(body).to_bytes(4, "big") + bytes([kind]) + body


def data_frames(data: Any) -> Iterator[bytes]:
    """Frames of raw data (anything that has a memoryview), one after the other."""
    with memoryview(data) as view, view.cast("B") as whole:
        for start in range(0, len(whole), CHUNK):
            yield make_frame(DATA, bytes(whole[start : start + CHUNK]))


def receive_data(connection: socket.socket, size: int) -> bytearray:
    """Raw data of this size. Raises InvalidMessage if something else is received."""
    data, received = bytearray(size), 0
    while received < size:
        frame = receive_frame(connection)
        if frame is None or frame[0] != DATA or received + len(frame[1]) > size:
            raise InvalidMessage("not the data that was announced")
        data[received : received + len(frame[1])] = frame[1]
        received += len(frame[1])
    return data


def dump(message: Any) -> bytes:
    """The JSON of a plain value, which may contain bytes."""
    return json.dumps(message, default=_bytes_to_plain).encode()


def load(body: bytes | bytearray | str, *, with_bytes: bool = True) -> Any:
    """The inverse of `dump`. Raises InvalidMessage. Bytes, which take as much memory again as their
    text, are read as such only `with_bytes`."""
    try:
        return json.loads(body, object_hook=_bytes_from_plain if with_bytes else None)
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(str(error)) from error


@contextmanager
def short_path(path: str) -> Iterator[str]:
    """Another path to the same socket, since one may have no more than 107 bytes (Linux;
    https://man7.org/linux/man-pages/man7/unix.7.html)."""
    folder = os.open(os.path.dirname(path), os.O_PATH)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    finally:
        os.close(folder)


def check_size(size: int, limit: int = limits.MESSAGE) -> None:
    """Raises MessageTooLarge."""
    if size > limit:
        raise MessageTooLarge(f"{size:,} bytes where {limit:,} are allowed")


class FrameReader:
    """Receives frames from a socket, without bytes beyond the frame's end.

    `sizes` are the largest sizes by kind, and other kinds are not allowed; None allows every kind.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.sizes: Mapping[int, int] | None = None
        self._kind: int | None = None  # of the frame whose body is being received
        self._data, self._received = bytearray(_PREFIX), 0

    def receive(self, until: float | None = None) -> tuple[int, bytearray] | None:
        """The next frame (kind, body), or None if the socket was closed.

        Raises MessageTooLarge as soon as the length of a frame that is too large is known, and
        TimeoutError at the moment `until` of `time.monotonic`, if given, or BlockingIOError if the
        socket does not block; what has arrived by then is kept for the next time.
        """
        while True:
            if not self._fill(until):
                return None
            if self._kind is not None:
                frame = self._kind, self._data
                self._expect(None, _PREFIX)
                return frame
            size, kind = int.from_bytes(self._data[:4], "big"), self._data[4]
            check_size(size, limits.MESSAGE if self.sizes is None else self.sizes.get(kind, -1))
            self._expect(kind, size)

    def _expect(self, kind: int | None, size: int) -> None:
        self._kind, self._data, self._received = kind, bytearray(size), 0

    def _fill(self, until: float | None) -> bool:
        """Receive until the data is complete. Returns whether the socket is still open."""
        while self._received < len(self._data):
            if until is not None:
                self._connection.settimeout(max(0.001, until - time.monotonic()))
            try:
                with memoryview(self._data) as data:
                    received = self._connection.recv_into(data[self._received :])
            except ConnectionError:
                return False
            if not received:
                return False
            self._received += received
        return True


def receive_frame(connection: socket.socket) -> tuple[int, bytearray] | None:
    """The next frame; see `FrameReader.receive`."""
    return FrameReader(connection).receive()


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


class Connection:
    """The server's non-blocking end of a socket.

    Calls `on_frame(kind, body)` for each frame received, and `on_end()` once, when the other side
    has closed the socket or violated the protocol (then `broken` is true).
    """

    def __init__(self, selector: selectors.BaseSelector, sock: socket.socket) -> None:
        sock.setblocking(False)
        if sock.family == socket.AF_INET:  # else Nagle's algorithm delays small frames by 40 ms
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.on_frame: Callable[[int, bytearray], None] = lambda kind, body: None
        self.on_end: Callable[[], None] = lambda: None
        self.open, self.broken = True, False
        self._selector, self._socket = selector, sock
        self._frames, self._unsent = FrameReader(sock), bytearray()
        self._closing = self._paused = False
        self._registered = 0
        self._update_registration()

    @property
    def backlog(self) -> int:
        """Number of bytes the other side has not read yet."""
        return len(self._unsent)

    def send(self, frame: bytes) -> None:
        if self.open:
            self._unsent += frame
            self._flush()

    def limit_frames(self, sizes: Mapping[int, int] | None) -> None:
        """Receive only frames of these kinds, and of at most these sizes; None lifts the limits."""
        self._frames.sizes = sizes

    def pause(self, paused: bool) -> None:
        """Stop or resume reading, so that a sender waits until its frames have been passed on."""
        if self.open and paused != self._paused:
            self._paused = paused
            self._update_registration()

    def finish(self) -> None:
        """Close once everything has been sent."""
        self._closing = True
        self._flush()

    def close(self) -> None:
        if self.open:
            self.open = False
            if self._registered:
                self._selector.unregister(self._socket)
            self._socket.close()

    def _ready(self, events: int) -> None:
        if self.open and events & _WRITE:
            self._flush()
        if self.open and events & _READ:
            self._read()

    def _read(self) -> None:
        """Pass on what has arrived, but not so much at once that others wait."""
        left = 2**18
        try:
            while self.open and left > 0:
                frame = self._frames.receive()
                if frame is None:
                    self._end()
                    return
                left -= _PREFIX + len(frame[1])
                self.on_frame(*frame)
        except BlockingIOError:
            pass
        except OSError:
            self._end()
        except MessageTooLarge:
            self.broken = True
            self._end()

    def _flush(self) -> None:
        if not self.open:
            return
        try:
            while self._unsent:
                sent = self._socket.send(self._unsent[: 2**18])
                del self._unsent[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._end()
            return
        if self._closing and not self._unsent:
            self.close()
        else:
            self._update_registration()

    def _update_registration(self) -> None:
        events = (0 if self._paused else _READ) | (_WRITE if self._unsent else 0)
        if events == self._registered:
            return
        if not events:
            self._selector.unregister(self._socket)
        elif self._registered:
            self._selector.modify(self._socket, events, self._ready)
        else:
            self._selector.register(self._socket, events, self._ready)
        self._registered = events

    def _end(self) -> None:
        self.close()
        self.on_end()
