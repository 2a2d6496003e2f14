"""What a reader notices of clients that request runs without a pause.

    python -m benchmarks.load.flood [--clients 0 1 4] [--rate 70] [--tries 40]

Each client is a process of its own with a low priority, as if it were another machine. It keeps the
Expression page open and requests `--rate` runs a second: of the page as it is, or with a new
program each time. A reader in this process runs new programs and chooses examples meanwhile; the
times until the answers are printed.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from websockets.exceptions import WebSocketException

from benchmarks.load import expression
from benchmarks.load.crowd import visit_every_page
from benchmarks.load.files import TIMEOUT, WrongAnswer
from benchmarks.load.flooder import KINDS, flooding
from benchmarks.load.reader import Reader
from benchmarks.load.serving import Server, pin_processors, serving

#: Seconds between the reader's actions.
_PAUSE = 0.5
_ACTIONS = (expression.new_program, expression.choose_example)


async def read(server: Server, tries: int) -> list[float]:
    """The seconds until each of a reader's answers; `TIMEOUT` if it is wrong or does not come."""
    reader = Reader(server.address, {}, (), random.Random(0), [], set())
    times = []
    for number in range(tries):
        try:
            if not reader.page:
                await reader.open_page("expression")
                await reader.wait_for_answer(lambda tab: None)
            await asyncio.sleep(_PAUSE)
            start = time.monotonic()
            await _ACTIONS[number % len(_ACTIONS)](reader)
            times.append(time.monotonic() - start)
        except (WrongAnswer, WebSocketException, OSError) as wrong:
            print(f"{type(wrong).__name__}: {wrong}")
            times.append(TIMEOUT)
            await reader.tab.close()
            reader.page = ""
    await reader.tab.close()
    return times


def measure(server: Server, clients: int, rate: float, kind: str, tries: int) -> str:
    """A row of the table."""
    with flooding(server.address, clients, rate, kind) as sent:
        before, sent_before, start = server.usage(), sent.value, time.monotonic()
        times = asyncio.run(read(server, tries))
        after, seconds = server.usage(), time.monotonic() - start
        requests = (sent.value - sent_before) / seconds
        share = (after.processor - before.processor) / seconds
    p95 = quantiles(times, n=20, method="inclusive")[-1]
    seen = " | ".join(f"{number:.2f}" for number in (median(times), p95, max(times), share))
    return f"| {clients} | {kind if clients else ''} | {requests:.0f} | {seen} | {after.threads} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--clients", type=int, nargs="+", default=[0, 1, 4])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--rate", type=float, default=70.0)
    parser.add_argument("--tries", type=int, default=40)
    options = parser.parse_args()
    pin_processors()
    print(
        "| clients | request | requests/s | median, s | 95th percentile, s | longest, s "
        "| server's processors | threads |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for clients in options.clients:
        for kind in options.kinds if clients else options.kinds[:1]:
            # A server of its own for each: nothing is left over from the flood before.
            with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log") as server:
                asyncio.run(visit_every_page(server))
                print(measure(server, clients, options.rate, kind, options.tries), flush=True)


if __name__ == "__main__":
    main()
