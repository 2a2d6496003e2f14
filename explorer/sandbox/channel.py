"""A non-blocking connection of the server: whole frames in, frames out when there is room."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Callable

from explorer.sandbox import wire

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Channel:
    """Calls `on_frame(kind, body)` for each frame and `on_end()` once, when the other side has
    closed or broken the protocol; `broken` says which."""

    def __init__(self, selector: selectors.BaseSelector, connection: socket.socket) -> None:
        connection.setblocking(False)
        if connection.family == socket.AF_INET:  # or small frames wait for each other, 40 ms each
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.on_frame: Callable[[int, bytes], None] = lambda kind, body: None
        self.on_end: Callable[[], None] = lambda: None
        self.open, self.broken = True, False
        self._selector, self._connection = selector, connection
        self._inbox, self._outbox = wire.Inbox(), bytearray()
        self._closing = self._paused = False
        self._watched = 0
        self._watch()

    @property
    def backlog(self) -> int:
        """Bytes not yet taken by the other side."""
        return len(self._outbox)

    def send(self, frame: bytes) -> None:
        if self.open:
            self._outbox += frame
            self._flush()

    def pause(self, paused: bool) -> None:
        """Stop or go on reading, so that a sender waits for whoever its frames are for."""
        if self.open and paused != self._paused:
            self._paused = paused
            self._watch()

    def finish(self) -> None:
        """Close once everything is sent."""
        self._closing = True
        self._flush()

    def close(self) -> None:
        if self.open:
            self.open = False
            if self._watched:
                self._selector.unregister(self._connection)
            self._connection.close()

    def _ready(self, events: int) -> None:
        if self.open and events & _WRITE:
            self._flush()
        if self.open and events & _READ:
            self._read()

    def _read(self) -> None:
        try:
            data = self._connection.recv(2**18)
            self._inbox.feed(data)
            for kind, body in self._inbox.frames():
                self.on_frame(kind, body)
                if not self.open:
                    return
        except BlockingIOError:
            return
        except OSError:
            data = b""
        except wire.TooLarge:
            data, self.broken = b"", True
        if not data:
            self._end()

    def _flush(self) -> None:
        if not self.open:
            return
        try:
            while self._outbox:
                sent = self._connection.send(self._outbox[: 2**18])
                del self._outbox[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._end()
            return
        if self._closing and not self._outbox:
            self.close()
        else:
            self._watch()

    def _watch(self) -> None:
        events = (0 if self._paused else _READ) | (_WRITE if self._outbox else 0)
        if events == self._watched:
            return
        if not events:
            self._selector.unregister(self._connection)
        elif self._watched:
            self._selector.modify(self._connection, events, self._ready)
        else:
            self._selector.register(self._connection, events, self._ready)
        self._watched = events

    def _end(self) -> None:
        self.close()
        self.on_end()
