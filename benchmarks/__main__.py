"""Measure every group and write benchmarks/RESULTS.md.

With groups named, measure those and write nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks import machine
from benchmarks.results import document
from benchmarks.running import GROUPS, group

RESULTS = Path(__file__).with_name("RESULTS.md")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument(
        "--most",
        type=int,
        default=sys.maxsize,
        metavar="N",
        help="repeat nothing more than N times, for a trial; nothing is written then either",
    )
    chosen = parser.parse_args()
    if unknown := set(chosen.groups) - set(GROUPS):
        parser.error(f"no group {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    facts, start = machine.described(), time.perf_counter()
    groups = [group(name, chosen.most) for name in chosen.groups or GROUPS]
    if not chosen.groups and chosen.most == sys.maxsize:
        minutes = (time.perf_counter() - start) / 60
        RESULTS.write_text(document(groups, facts, minutes), encoding="utf-8")
        print(f"\nWritten to {RESULTS.name}")


if __name__ == "__main__":
    main()
