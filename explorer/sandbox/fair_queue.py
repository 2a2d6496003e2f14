"""A queue in which readers take turns, however many requests each of them has waiting, and whoever
has used least lately goes first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Generic, Protocol, TypeVar

#: Seconds in which half of what was used is forgotten, and after which all of it is, once somebody
#: is charged.
HALF_LIFE, FORGOTTEN = 10.0, 120.0


@dataclass
class Use:
    """The seconds that a reader has used lately, as of `now`, a moment of time.monotonic()."""

    seconds: float = 0.0
    now: float = field(default_factory=time.monotonic)

    def add(self, seconds: float, now: float) -> None:
        self.seconds = self.recent(now) + seconds
        self.now = now

    def recent(self, now: float) -> float:
        return self.seconds * 0.5 ** ((now - self.now) / HALF_LIFE)


class HasReader(Protocol):
    reader: str
    background: bool


R = TypeVar("R", bound=HasReader)


class FairQueue(Generic[R]):
    """First come, first served among one reader's requests. Among readers, who has used less lately
    goes first, and those who have used about as much take turns. Requests in the background come
    after all others."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[R]] = {}  # in the order of the readers' turns
        self._uses: dict[str, Use] = {}

    def charge(self, reader: str, seconds: float) -> None:
        """Count the seconds, by the clock, that a request of this reader has run."""
        now = time.monotonic()
        self._uses = {r: use for r, use in self._uses.items() if now - use.now < FORGOTTEN}
        self._uses.setdefault(reader, Use()).add(seconds, now)

    def _recent(self, reader: str) -> float:
        """What this reader has used lately, to a tenth of a second."""
        use = self._uses.get(reader)
        return round(use.recent(time.monotonic()), 1) if use is not None else 0.0

    def __iter__(self) -> Iterator[R]:
        """The waiting requests in the order in which they would start if all did now."""
        alike: dict[float, list[list[R]]] = {}
        for reader, requests in self._waiting.items():
            alike.setdefault(self._recent(reader), []).append(requests)
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

    def evict(self) -> R:
        """Remove and return the last request in the background, if there is one; otherwise the last
        of the reader with the most waiting, and among several such readers of the one who has used
        most, or whose turn comes last."""
        *_, last = self
        if last.background:
            self.remove(last)
            return last
        weights = {reader: (len(q), self._recent(reader)) for reader, q in self._waiting.items()}
        request = self._waiting[max(reversed(weights), key=weights.__getitem__)][-1]
        self.remove(request)
        return request

    def remove(self, request: R) -> None:
        requests = self._waiting[request.reader]
        requests.remove(request)
        if not requests:
            del self._waiting[request.reader]

    def take(self, may_start: Callable[[R], bool]) -> R | None:
        """Remove and return the next request that may start. The next turn of its reader comes last
        among those who have used as much."""
        request = next(filter(may_start, self), None)
        if request is not None:
            requests = self._waiting.pop(request.reader)
            requests.remove(request)
            if requests:
                self._waiting[request.reader] = requests
        return request
