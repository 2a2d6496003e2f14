"""Huge pages for the memory that children inherit.

Most of a fork, and of a child's end, is one entry of the page table after the other: 75,000 of 4 kB
or 150 of 2 MB. What a child writes to is copied in pieces of 4 kB all the same.

https://man7.org/linux/man-pages/man2/madvise.2.html
"""

from __future__ import annotations

import re
from pathlib import Path

from explorer.sandbox import libc

_COLLAPSE = 25
_SIZE = 2**21

#: A line of /proc/self/maps: writable memory of this process alone that is no file's.
_PRIVATE = re.compile(r"(\w+)-(\w+) rw-p 0+ 00:00 0 *(?:\[heap\])?")


def collapse_memory() -> None:
    """Put what this process has written to into huge pages, if the kernel can (Linux 6.1)."""
    maps = Path("/proc/self/maps")
    for line in maps.read_text().splitlines() if maps.exists() else ():
        if match := _PRIVATE.fullmatch(line):
            first, last = (int(address, 16) for address in match.groups())
            for start in range(-(-first // _SIZE) * _SIZE, last - _SIZE + 1, _SIZE):
                libc.madvise(start, _SIZE, _COLLAPSE)
