"""Answers as they are shown, after their cures have been tried."""

from __future__ import annotations

from dataclasses import replace
from difflib import unified_diff

import explorer
from explorer.trace import Answer


def tried(source: str) -> tuple[Answer, ...]:
    """The answers to a program, tried however slow this machine is."""
    return explorer.prove(replace(explorer.run(source), seconds=0.0)).answers


def new_lines(source: str, fix: str | None) -> list[str]:
    """The lines of a changed program that are new."""
    assert fix is not None
    marked = unified_diff(source.split("\n"), fix.split("\n"), n=0)
    return [line[1:] for line in marked if line[0] == "+" and line[:3] != "+++"]
