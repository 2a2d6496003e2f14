"""A class that opens a lesson's link in the same second.

    python -m benchmarks.load.lesson [--readers 30] [--seed 0] [--against CHECKOUT]

The link holds a program that the server has never seen. Printed are the seconds until the first,
the middle and the last reader have the answer, and the seconds of processor that all of it took.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.load.cost import rest
from benchmarks.load.crowd import visit_every_page
from benchmarks.load.expression import printed, program
from benchmarks.load.files import WrongAnswer
from benchmarks.load.serving import ROOT, Server, pin_processors, serving
from benchmarks.load.tab import Tab

#: How often each server is asked, in turns.
_ROUNDS = 3


async def open_lesson(
    server: Server, readers: int, rng: random.Random
) -> tuple[list[float], float]:
    """The seconds until each reader's answer, and those of processor. Raises WrongAnswer."""
    text, answer = program(rng)
    before, start = await rest(server), time.monotonic()

    async def read() -> float:
        tab = Tab(server.address)
        await tab.open("expression", program=text)
        await tab.wait_until(lambda tab: None if printed(tab) == answer else "no answer", 60.0)
        if not tab.has("bidi_component", "graph"):
            raise WrongAnswer("no graph")
        seconds = time.monotonic() - start
        await tab.close()
        return seconds

    times = await asyncio.gather(*(read() for _ in range(readers)))
    return sorted(times), await rest(server) - before


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--readers", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--against", type=Path, help="another checkout of the project")
    options = parser.parse_args()
    pin_processors()
    folders = [ROOT, *([options.against.resolve()] if options.against else [])]
    print("| app | first, s | median, s | last, s | processor, s |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as logs, ExitStack() as stack:
        servers = {
            folder: stack.enter_context(serving(Path(logs) / str(i), "streamlit", folder))
            for i, folder in enumerate(folders)
        }
        for server in servers.values():
            asyncio.run(visit_every_page(server))
        for turn in range(_ROUNDS):
            for folder, server in servers.items():
                rng = random.Random(f"{options.seed} {turn} {folder}")
                times, used = asyncio.run(open_lesson(server, options.readers, rng))
                seen = f"{times[0]:.2f} | {median(times):.2f} | {times[-1]:.2f} | {used:.2f}"
                print(f"| {folder.name} | {seen} |", flush=True)


if __name__ == "__main__":
    main()
