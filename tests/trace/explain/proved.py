"""Runs a program and tries its answers, however slow the machine is."""

from __future__ import annotations

from dataclasses import replace

import explorer
from explorer.trace import Trace


def proved(program: str) -> Trace:
    """The trace of a program with its answers tried."""
    return explorer.prove(replace(explorer.run(program), seconds=0.0))
