"""Measure every group and write benchmarks/RESULTS.md.

If groups are named, measure only those and write nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks import machine
from benchmarks.results import make_document
from benchmarks.running import GROUPS, measure_group

RESULTS = Path(__file__).with_name("RESULTS.md")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument(
        "--most",
        type=int,
        default=sys.maxsize,
        metavar="N",
        help="repeat nothing more than N times and write nothing, for a trial",
    )
    options = parser.parse_args()
    if unknown := set(options.groups) - set(GROUPS):
        parser.error(f"no group {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    facts, start = machine.describe_machine(), time.perf_counter()
    groups = [measure_group(name, options.most) for name in options.groups or GROUPS]
    if not options.groups and options.most == sys.maxsize:
        minutes = (time.perf_counter() - start) / 60
        RESULTS.write_text(make_document(groups, facts, minutes), encoding="utf-8")
        print(f"\nWritten to {RESULTS.name}")


if __name__ == "__main__":
    main()
