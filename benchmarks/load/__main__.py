"""Many readers at one server: how long answers take, and how much memory the server uses.

    python -m benchmarks.load [--readers 20] [--seconds 120] [--seed 0]

First, `--readers` readers use the app for `--seconds` and leave; memory is measured again once
Streamlit has dropped their sessions. Then there are more and more readers, until the 95th
percentile of the times exceeds 1 s. The server is started as in README.md and shares two processors
with the readers. mix.py says what readers do. The tables are printed and written to
benchmarks/LOAD.md (not with --quick, a short trial).
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from datetime import date
from pathlib import Path

from benchmarks.load import report
from benchmarks.load.crowd import (
    Crowd,
    median_and_p95,
    run_crowd,
    trigger_cleanup,
    visit_every_page,
)
from benchmarks.load.serving import Server, Usage, pin_processors, serving, session_ttl

_FILE = Path(__file__).parent.parent / "LOAD.md"
#: Numbers of readers in the second part, and how many seconds each lasts.
STAGES, STAGE_SECONDS = (5, 10, 20, 30, 40, 60, 80), 40.0


async def run_first_part(
    server: Server, options: argparse.Namespace
) -> tuple[Crowd, dict[str, Usage]]:
    """The given number of readers, and the server before, during and after their visit."""
    await visit_every_page(server)
    moments = {"at the start, each page visited once": server.usage()}
    crowd = await run_crowd(server, options.readers, options.seconds, options.seed, set())
    moments["peak"] = crowd.peak
    moments["all readers have left"] = server.usage()
    if not options.quick:
        await asyncio.sleep(session_ttl() + 2)
        await trigger_cleanup(server)
        await asyncio.sleep(1)
        moments[f"their sessions dropped after {session_ttl()} s"] = server.usage()
    return crowd, moments


async def run_second_part(server: Server, options: argparse.Namespace) -> list[Crowd]:
    """More and more readers, until the 95th percentile exceeds the limit."""
    crowds: list[Crowd] = []
    for readers in STAGES:
        crowds.append(
            await run_crowd(server, readers, STAGE_SECONDS, f"{options.seed} {readers}", set())
        )
        print(report.crowds_table(crowds[-1:]), flush=True)
        if median_and_p95(crowds[-1].done)[1] > report.LIMIT:
            break
    return crowds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="no waiting, no second part, no file")
    options = parser.parse_args()
    processors = pin_processors()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log") as server:
        crowd, moments = asyncio.run(run_first_part(server, options))
        parts = [
            report.crowds_table([crowd]),
            report.actions_table(crowd),
            report.memory_table(moments),
            report.errors_list([crowd]),
        ]
        print("\n\n".join(parts), flush=True)
        if options.quick:
            return
        crowds = asyncio.run(run_second_part(server, options))
        moments["after the second part"] = server.usage()
    text = f"""\
# Load

Written by `python -m benchmarks.load --readers {options.readers} --seconds {options.seconds:g} \
--seed {options.seed}` on {date.today()}. The server and the readers share \
{processors} processors. Each reader has a real Streamlit session without a browser \
(`benchmarks/load/tab.py`), and every answer is checked. {crowd.new:.0%} of their inputs had never \
been seen before.

{report.machine()}

## {crowd.readers} readers

{report.crowds_table([crowd])}

{report.actions_table(crowd)}

Times are from a reader's action until the run that answers it has ended and its pictures are \
loaded.

## Memory

{report.memory_table(moments)}

Streamlit keeps a reader's session for {session_ttl()} s after the reader has left, in case the \
reader comes back, and drops it when the next reader leaves. Caches shared by all readers remain, \
within their limits.

## More readers

{report.crowds_table(crowds)}

{report.capacity(crowds)}

## Floods

`python -m benchmarks.load.flood` measures what a reader notices of clients that request runs \
without a pause.

## Errors

{report.errors_list([crowd, *crowds])}

## The mix

{report.mix()}
"""
    _FILE.write_text(text, encoding="utf-8")
    print(f"Written to {_FILE}")


if __name__ == "__main__":
    main()
