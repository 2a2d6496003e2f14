"""Readers at one server, on two processors: how long answers take, and what stays behind.

    python -m benchmarks.load [--readers 20] [--seconds 120] [--seed 0]

First `--readers` readers for `--seconds`; then all leave, and memory is looked at once Streamlit
has dropped their sessions; then more and more readers until the 95 % passes 1 s. The server is
started as README says, pinned with the readers to two processors. What readers do is in mix.py.
The tables go to the screen and to benchmarks/LOAD.md (not with --quick, a short trial).
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from datetime import date
from pathlib import Path

from benchmarks.load import report
from benchmarks.load.crowd import Crowd, read, sweep, times, warm
from benchmarks.load.serving import Server, Usage, kept, pin, serving

_FILE = Path(__file__).parent.parent / "LOAD.md"
#: Crowds of the second part, and for how many seconds each reads.
STAGES, STAGE = (5, 10, 20, 30, 40, 60, 80), 40.0


async def first(server: Server, options: argparse.Namespace) -> tuple[Crowd, dict[str, Usage]]:
    """The readers that were asked for, and the server before, with and after them."""
    await warm(server)
    moments = {"before, each page visited once": server.usage()}
    crowd = await read(server, options.readers, options.seconds, options.seed, set())
    moments["at most"] = crowd.peak
    moments["all have left"] = server.usage()
    if not options.quick:
        await asyncio.sleep(kept() + 2)
        await sweep(server)
        await asyncio.sleep(1)
        moments[f"their sessions dropped, after {kept()} s"] = server.usage()
    return crowd, moments


async def second(server: Server, options: argparse.Namespace) -> list[Crowd]:
    """More and more readers, until the 95 % passes the limit."""
    crowds: list[Crowd] = []
    for readers in STAGES:
        crowds.append(await read(server, readers, STAGE, f"{options.seed} {readers}", set()))
        print(report.crowds(crowds[-1:]), flush=True)
        if times(crowds[-1].done)[1] > report.LIMIT:
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
    processors = pin()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log") as server:
        crowd, moments = asyncio.run(first(server, options))
        parts = [report.kinds(crowd), report.usages(moments), report.errors([crowd])]
        print("\n\n".join([report.crowds([crowd]), *parts]), flush=True)
        if options.quick:
            return
        crowds = asyncio.run(second(server, options))
        moments["after the second part"] = server.usage()
    text = f"""\
# Load

Written by `python -m benchmarks.load --readers {options.readers} --seconds {options.seconds:g} \
--seed {options.seed}` on {date.today()}. Server and readers share {processors} \
processors. Readers hold real Streamlit sessions without a browser (`benchmarks/load/tab.py`); \
every answer is checked. Of their inputs {crowd.new:.0%} had never been seen before.

{report.machine()}

## {crowd.readers} readers

{report.crowds([crowd])}

{report.kinds(crowd)}

Seconds are from a reader's act until the run that answers it has ended and its pictures are there.

## Memory

{report.usages(moments)}

Streamlit keeps the session of a reader who has left for {kept()} s, in case the reader comes \
back, and drops it when the next one leaves. Caches shared by all readers stay, within their limits.

## More readers

{report.crowds(crowds)}

{report.most(crowds)}

## Errors

{report.errors([crowd, *crowds])}

## The mix

{report.mix()}
"""
    _FILE.write_text(text, encoding="utf-8")
    print(f"Written to {_FILE}")


if __name__ == "__main__":
    main()
