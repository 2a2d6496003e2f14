"""Who has used how much lately, and a queue by that: the session that has used least goes next.

The server's requests wait in one, and the runs of pages in another (`ui.server.places`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain, zip_longest
from typing import Generic, Protocol, TypeVar

#: Seconds in which half of what was used is forgotten, and after which all of it is, once somebody
#: is charged.
HALF_LIFE, FORGOTTEN = 10.0, 120.0


class Ledger:
    """The seconds that each session, or other reader, has used lately."""

    def __init__(self) -> None:
        self._used: dict[str, tuple[float, float]] = {}  # as of a moment of time.monotonic()

    def charge(self, reader: str, seconds: float) -> None:
        now = time.monotonic()
        self._used = {r: use for r, use in self._used.items() if now - use[1] < FORGOTTEN}
        self._used[reader] = self.used(reader) + seconds, now

    def used(self, reader: str) -> float:
        seconds, at = self._used.get(reader, (0.0, 0.0))
        return seconds * 0.5 ** ((time.monotonic() - at) / HALF_LIFE)


class HasReader(Protocol):
    @property
    def reader(self) -> str: ...
    @property
    def background(self) -> bool: ...


R = TypeVar("R", bound=HasReader)


class FairQueue(Generic[R]):
    """The session that has used least goes next; those that have used about as much alternate. One
    session's own requests are served in the order in which they came, and requests in the
    background after all others."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self._waiting: dict[str, list[R]] = {}  # by reader; who was served last comes last

    def __iter__(self) -> Iterator[R]:
        """The waiting requests in the order in which they would start if all did now."""
        alike: dict[float, list[list[R]]] = {}  # by what was used, to a tenth of a second
        for reader, requests in self._waiting.items():
            alike.setdefault(round(self.ledger.used(reader), 1), []).append(requests)
        for background in (False, True):
            for _, readers in sorted(alike.items()):
                queues = ([r for r in q if r.background == background] for q in readers)
                rounds = chain.from_iterable(zip_longest(*queues))
                yield from (request for request in rounds if request is not None)

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def add(self, request: R) -> None:
        self._waiting.setdefault(request.reader, []).append(request)

    def count(self, reader: str) -> int:
        """How many requests this reader has waiting."""
        return len(self._waiting.get(reader, ()))

    def take(self, may_start: Callable[[R], bool]) -> R | None:
        """Remove and return the next request that may start."""
        request = next(filter(may_start, self), None)
        if request is not None:
            requests = self._waiting.pop(request.reader)
            requests.remove(request)
            if requests:
                self._waiting[request.reader] = requests
        return request

    def remove(self, request: R) -> None:
        requests = self._waiting[request.reader]
        requests.remove(request)
        if not requests:
            del self._waiting[request.reader]

    def evict(self) -> R:
        """Remove and return the last request in the background, if there is one; otherwise the last
        of the reader with the most waiting, and among several such readers of the one who has used
        most, or who would be served last."""
        *_, request = self
        if not request.background:
            # `max` finds the first of the largest: of the readers, from the one served last.
            _, requests = max(
                reversed(self._waiting.items()),
                key=lambda item: (len(item[1]), round(self.ledger.used(item[0]), 1)),
            )
            request = requests[-1]
        self.remove(request)
        return request
