"""A crowd of readers at one server, and the times and errors of their actions."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from statistics import median, quantiles

from benchmarks.load.mix import ACTIONS, PAGES
from benchmarks.load.reader import NEW, NOTHING, ActionResult, Reader
from benchmarks.load.serving import Server, Usage
from benchmarks.load.tab import Tab

#: Seconds between two measurements of the server while a crowd reads.
_SAMPLING_INTERVAL = 2.0


@dataclass(frozen=True)
class Crowd:
    """The actions of `readers` readers in `seconds`.

    `peak` has the largest value of each measure of the server; `server` and `client` are the
    average numbers of processors used by the server and by all readers together.
    """

    readers: int
    seconds: float
    done: tuple[ActionResult, ...]
    peak: Usage
    server: float
    client: float

    @property
    def errors(self) -> list[ActionResult]:
        return [one for one in self.done if one.error]

    @property
    def new(self) -> float:
        """The share of inputs that nobody had given before."""
        inputs = [d.action.input for d in self.done if d.action.input != NOTHING]
        return inputs.count(NEW) / len(inputs) if inputs else 0.0


def median_and_p95(done: Sequence[ActionResult]) -> tuple[float, float]:
    """Median and 95th percentile of the times in seconds, including wrong answers."""
    seconds = [one.seconds for one in done]
    if len(seconds) < 2:
        return (seconds or [float("nan")])[0], (seconds or [float("nan")])[0]
    return median(seconds), quantiles(seconds, n=20, method="inclusive")[-1]


async def run_crowd(
    server: Server, readers: int, seconds: float, seed: object, used: set[object]
) -> Crowd:
    """Let `readers` use the app for `seconds`; all have left when it returns."""
    done: list[ActionResult] = []
    crowd = [
        Reader(server.address, PAGES, ACTIONS, random.Random(f"{seed} {i}"), done, used)
        for i in range(readers)
    ]
    before, own, start = server.usage(), time.process_time(), time.monotonic()
    samples = [before]

    async def sample_usage() -> None:
        while True:
            await asyncio.sleep(_SAMPLING_INTERVAL)
            samples.append(await asyncio.to_thread(server.usage))

    sampler = asyncio.create_task(sample_usage())
    try:
        await asyncio.gather(*(reader.read(start + seconds) for reader in crowd))
    finally:
        sampler.cancel()
    taken = time.monotonic() - start
    return Crowd(
        readers,
        taken,
        tuple(done),
        _largest(samples),
        (samples[-1].processor - before.processor) / taken,
        (time.process_time() - own) / taken,
    )


def _largest(samples: Sequence[Usage]) -> Usage:
    """The largest value of each measure."""
    return Usage(*(max(numbers) for numbers in zip(*map(astuple, samples), strict=True)))


async def trigger_cleanup(server: Server) -> None:
    """Open the home page and leave, which makes Streamlit drop expired sessions."""
    tab = Tab(server.address)
    await tab.open()
    await tab.wait_until(lambda tab: None)
    await tab.close()


async def visit_every_page(server: Server) -> None:
    """Visit every page once: the first visit imports modules that later ones use."""
    reader = Reader(server.address, PAGES, ACTIONS, random.Random(0), [], set())
    for page in PAGES:
        await reader.open_page(page)
        await reader.wait_for_answer(lambda tab: None, timeout=120.0)
    await reader.tab.close()
