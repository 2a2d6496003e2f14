"""A crowd of readers at one server, and what became of them."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from statistics import median, quantiles

from benchmarks.load.mix import ACTIONS, PAGES
from benchmarks.load.reader import NEW, NOTHING, Done, Reader
from benchmarks.load.serving import Server, Usage
from benchmarks.load.tab import Tab

#: Seconds between two looks at the server while a crowd reads.
_LOOK = 2.0


@dataclass(frozen=True)
class Crowd:
    """What `readers` did in `seconds`. `peak` is the server at its largest; `server` and `client`
    are processors in use on average by the server and by the readers together."""

    readers: int
    seconds: float
    done: tuple[Done, ...]
    peak: Usage
    server: float
    client: float

    @property
    def errors(self) -> list[Done]:
        return [one for one in self.done if one.error]

    @property
    def new(self) -> float:
        """The share of new ones among the inputs."""
        inputs = [d.action.input for d in self.done if d.action.input != NOTHING]
        return inputs.count(NEW) / len(inputs) if inputs else 0.0


def times(done: Sequence[Done]) -> tuple[float, float]:
    """Median and 95 % of the seconds, those of wrong answers too."""
    seconds = [one.seconds for one in done]
    if len(seconds) < 2:
        return (seconds or [float("nan")])[0], (seconds or [float("nan")])[0]
    return median(seconds), quantiles(seconds, n=20, method="inclusive")[-1]


async def read(
    server: Server, readers: int, seconds: float, seed: object, used: set[object]
) -> Crowd:
    """Let `readers` read for `seconds`; all have left when it returns."""
    done: list[Done] = []
    crowd = [
        Reader(server.address, PAGES, ACTIONS, random.Random(f"{seed} {i}"), done, used)
        for i in range(readers)
    ]
    before, own, start = server.usage(), time.process_time(), time.monotonic()
    looks = [before]

    async def look() -> None:
        while True:
            await asyncio.sleep(_LOOK)
            looks.append(await asyncio.to_thread(server.usage))

    looking = asyncio.create_task(look())
    try:
        await asyncio.gather(*(reader.read(start + seconds) for reader in crowd))
    finally:
        looking.cancel()
    taken = time.monotonic() - start
    return Crowd(
        readers,
        taken,
        tuple(done),
        _largest(looks),
        (looks[-1].processor - before.processor) / taken,
        (time.process_time() - own) / taken,
    )


def _largest(looks: Sequence[Usage]) -> Usage:
    """The largest of each number."""
    return Usage(*(max(numbers) for numbers in zip(*map(astuple, looks), strict=True)))


async def sweep(server: Server) -> None:
    """Someone looks at the entrance and leaves: Streamlit then drops the sessions it need not
    keep."""
    tab = Tab(server.address)
    await tab.open()
    await tab.until(lambda tab: None)
    await tab.close()


async def warm(server: Server) -> None:
    """Visit every page once: the first visit imports what later ones use."""
    reader = Reader(server.address, PAGES, ACTIONS, random.Random(0), [], set())
    for page in PAGES:
        await reader.go(page)
        await reader.see(lambda tab: None, patience=120.0)
    await reader.tab.close()
