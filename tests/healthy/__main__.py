"""`python -m tests.healthy [part of a name]` prints every alarm, and the number of programs."""

from __future__ import annotations

import sys
import time

from tests.healthy.corpus import PROGRAMS, alarms, run_plainly


def main(part: str) -> None:
    started, count, alarmed = time.monotonic(), 0, 0
    for name, source in PROGRAMS.items():
        if part not in name:
            continue
        count += 1
        before = time.monotonic()
        try:
            run_plainly(source)
        except Exception as failure:
            print(f"NOT HEALTHY {name}: {type(failure).__name__}: {failure}")
            continue
        found = alarms(source)
        alarmed += bool(found)
        took = time.monotonic() - before
        slow = f"  ({took:.1f} s)" if took > 1 else ""
        if found or slow:
            said = [f"{key}: {words}" for key, words in found.items()]
            print(f"{name}{slow}", *said, sep="\n    ", flush=True)
    print(f"{count} programs, {alarmed} with alarms, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
