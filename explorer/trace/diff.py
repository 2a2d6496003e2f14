"""What a changed program changes: its new lines, and the old ones in their place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

#: Most lines that are compared one by one, between the first and the last that differ.
MOST_COMPARED = 400


@dataclass(frozen=True)
class ChangedLine:
    """A line that is new (`sign` "+", its number in the changed program) or gone ("-", its number
    in the program before). `place` is the line of the changed program where that happened."""

    sign: str
    number: int
    text: str
    place: int


def changed_lines(before: str, after: str) -> tuple[ChangedLine, ...]:
    """The lines that differ, from the first to the last; those that are gone before the new ones
    in their place."""
    old, new = before.rstrip("\n").split("\n"), after.rstrip("\n").split("\n")
    start = end = 0
    shorter = min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return tuple(_between(old[start : len(old) - end], new[start : len(new) - end], start))


def _between(old: list[str], new: list[str], start: int) -> Iterator[ChangedLine]:
    blocks = [(0, len(old), 0, len(new))]
    if max(len(old), len(new)) <= MOST_COMPARED:
        matches = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        blocks = [tuple(places) for tag, *places in matches if tag != "equal"]  # type: ignore[misc]
    for old_from, old_to, new_from, new_to in blocks:
        for place in range(old_from, old_to):
            yield ChangedLine("-", start + place + 1, old[place], start + new_from + 1)
        for place in range(new_from, new_to):
            yield ChangedLine("+", start + place + 1, new[place], start + place + 1)
