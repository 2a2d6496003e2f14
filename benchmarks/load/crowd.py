"""A crowd of readers at one server, and the times and errors of their actions."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import astuple, dataclass
from statistics import median, quantiles

from benchmarks.load.losses import Loss
from benchmarks.load.mix import MIX, PAGES
from benchmarks.load.reader import ActionResult, Mix, Reader
from benchmarks.load.serving import Server, Usage
from benchmarks.load.tab import Tab

#: Seconds between two measurements of the server while a crowd reads.
_SAMPLING_INTERVAL = 2.0
#: Seconds for which readers go on at least after something has happened.
_AFTER = 8.0


@dataclass(frozen=True)
class Crowd:
    """The actions of `readers` readers in `seconds`, after the warm-up.

    `errors` are the wrong answers, those of the warm-up included. `peak` has the largest value of
    each measure of the server; `server` is how many processors it used on average, `client` how
    many all readers together. `losses` are the lost connections of each reader.
    """

    readers: int
    seconds: float
    done: tuple[ActionResult, ...]
    errors: tuple[ActionResult, ...]
    peak: Usage
    server: float
    client: float
    losses: tuple[tuple[Loss, ...], ...] = ()
    mix: Mix = MIX

    @property
    def milliseconds(self) -> float:
        """Of processor, of the server, for each action."""
        return 1000 * self.server * self.seconds / len(self.done) if self.done else float("nan")


def median_and_p95(done: Sequence[ActionResult]) -> tuple[float, float]:
    """Median and 95th percentile of the times in seconds, including wrong answers."""
    seconds = [one.seconds for one in done if not one.interrupted]
    if len(seconds) < 2:
        return (seconds or [float("nan")])[0], (seconds or [float("nan")])[0]
    return median(seconds), quantiles(seconds, n=20, method="inclusive")[-1]


async def run_crowd(
    server: Server,
    readers: int,
    seconds: float,
    seed: object,
    mix: Mix = MIX,
    warm_up: float = 0.0,
    meanwhile: Callable[[], Awaitable[object]] | None = None,
) -> Crowd:
    """Let `readers` use the app for `seconds`, after a warm-up that is not counted; all have left
    when it returns. What happens `meanwhile` begins with the counting, and they stay until it is
    over."""
    done: list[ActionResult] = []
    used: set[object] = set()
    crowd = [
        Reader(server.address, mix, random.Random(f"{seed} {i}"), done, used)
        for i in range(readers)
    ]
    end = time.monotonic() + warm_up + seconds
    if meanwhile:
        end = math.inf  # as long as it lasts

    def end_time() -> float:
        return end

    reading = asyncio.gather(*(reader.read(end_time) for reader in crowd))
    await asyncio.wait([reading], timeout=warm_up)
    begin, own = time.monotonic(), time.process_time()
    samples = [await asyncio.to_thread(server.usage)]

    async def sample_usage() -> None:
        while True:
            await asyncio.sleep(_SAMPLING_INTERVAL)
            samples.append(await asyncio.to_thread(server.usage))

    sampler = asyncio.create_task(sample_usage())
    try:
        if meanwhile:
            try:
                await meanwhile()
            finally:
                end = max(begin + seconds, time.monotonic() + _AFTER)
        await reading
    finally:
        sampler.cancel()
    taken = time.monotonic() - begin
    used_by_server = server.processor() - samples[0].processor if server.ours else 0.0
    counted = tuple(one for one in done if one.began >= begin)
    return Crowd(
        readers,
        taken,
        counted,
        tuple(one for one in done if one.error),
        _largest(samples),
        used_by_server / taken,
        (time.process_time() - own) / taken,
        tuple(tuple(reader.losses) for reader in crowd),
        mix,
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
    """Visit every page once: the first visit imports modules that later ones use, and the first
    program waits until the sandbox has started."""
    reader = Reader(server.address, MIX, random.Random(0))
    for page in PAGES:
        await reader.open_page(page)
        await reader.wait_for_answer(_has_started, timeout=120.0)
    await reader.tab.close()


def _has_started(tab: Tab) -> str | None:
    return "it is still running" if '"ax-note ax-progress"' in tab.texts() else None
