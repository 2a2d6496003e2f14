"""Reads programs that lie in Python files, several in a file.

    # What the programs of this file have in common, and what is expected of them.

    # ======== name of the first
    import torch
    ...

    # ======== name of the second
    # key = "value"
    # --------
    import torch
    ...

What stands before the line `# --------`, if there is one, is what is expected of a single program,
as TOML in comments. Empty lines around a program are not its part.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NEXT = "\n# ======== "
END_OF_HEADER = "# --------\n"


def programs(path: Path) -> dict[str, str]:
    """The programs of a file, by name."""
    return {name: program for name, _, program in programs_with_headers(path)}


def programs_with_headers(path: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The name of each program of a file, what is expected of it, and the program."""
    for section in path.read_text(encoding="utf-8").split(NEXT)[1:]:
        name, _, text = section.partition("\n")
        header, found, program = text.rpartition(END_OF_HEADER)
        expected = "\n".join(line.removeprefix("# ") for line in header.splitlines())
        yield name, tomllib.loads(expected) if found else {}, program.strip("\n") + "\n"
