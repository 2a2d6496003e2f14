"""A queue in which readers take turns, however many requests each of them has waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, zip_longest
from typing import Generic, Protocol, TypeVar


class HasReader(Protocol):
    reader: str
    background: bool


R = TypeVar("R", bound=HasReader)


class FairQueue(Generic[R]):
    """First come, first served among one reader's requests; round robin among readers. Requests in
    the background come after all others."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[R]] = {}  # in the order of the readers' turns

    def __iter__(self) -> Iterator[R]:
        """The waiting requests in the order in which they will start."""
        for background in (False, True):
            queues = ([r for r in q if r.background == background] for q in self._waiting.values())
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
        of the reader with the most waiting, and among several such readers of the one whose turn
        comes last."""
        *_, last = self
        if last.background:
            self.remove(last)
            return last
        requests = max(reversed(self._waiting.values()), key=len)
        request = requests[-1]
        self.remove(request)
        return request

    def remove(self, request: R) -> None:
        requests = self._waiting[request.reader]
        requests.remove(request)
        if not requests:
            del self._waiting[request.reader]

    def take(self, may_start: Callable[[R], bool]) -> R | None:
        """Remove and return the next request that may start; its reader's next turn comes last."""
        request = next(filter(may_start, self), None)
        if request is not None:
            requests = self._waiting.pop(request.reader)
            requests.remove(request)
            if requests:
                self._waiting[request.reader] = requests
        return request
