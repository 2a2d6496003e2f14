"""The memory and the processor time of processes, from Linux's /proc; nothing elsewhere."""

from __future__ import annotations

import os
import re
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, directly or not."""
    parents = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        fields = _fields(file)
        if fields:
            parents[int(file.parent.name)] = int(fields[1])
    family = [pid]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family[1:]


def memory(pid: int) -> int:
    """Bytes: what it shares with others is divided among them."""
    text = _read(Path(f"/proc/{pid}/smaps_rollup"))
    match = re.search(r"^Pss:\s*(\d+)", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def processor_time(pid: int) -> float:
    """Seconds, with those of the children that it has waited for."""
    fields = _fields(Path(f"/proc/{pid}/stat"))
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _fields(file: Path) -> list[str]:
    """Those of a stat file behind the process's name, which may contain blanks."""
    return _read(file).rpartition(")")[2].split()


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # it has ended, or there is no such file here
        return ""
