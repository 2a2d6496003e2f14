"""Who is next: readers take turns, however many jobs each has waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, zip_longest
from typing import Generic, Protocol, TypeVar


class HasReader(Protocol):
    reader: str


J = TypeVar("J", bound=HasReader)


class FairQueue(Generic[J]):
    """First come, first served among a reader's own jobs; round robin among readers."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[J]] = {}  # in the order of the readers' turns

    def __iter__(self) -> Iterator[J]:
        """The waiting jobs in the order they will start."""
        rounds = chain.from_iterable(zip_longest(*self._waiting.values()))
        return (job for job in rounds if job is not None)

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def add(self, job: J) -> None:
        self._waiting.setdefault(job.reader, []).append(job)

    def waiting(self, reader: str) -> int:
        """How many jobs this reader has waiting."""
        return len(self._waiting.get(reader, ()))

    def crowd_out(self) -> J:
        """The last job of the reader with most waiting, taken out; of several such readers, the
        one whose turn is last."""
        mine = max(reversed(self._waiting.values()), key=len)
        job = mine[-1]
        self.remove(job)
        return job

    def remove(self, job: J) -> None:
        mine = self._waiting[job.reader]
        mine.remove(job)
        if not mine:
            del self._waiting[job.reader]

    def take(self, may_start: Callable[[J], bool]) -> J | None:
        """The next job that may start, taken out; its reader goes to the end of the line."""
        job = next((job for job in self if may_start(job)), None)
        if job is not None:
            mine = self._waiting.pop(job.reader)
            mine.remove(job)
            if mine:
                self._waiting[job.reader] = mine
        return job
