"""A changed program: its new lines and the old ones in their place, as markup with a button that
puts it into the editor.

All of it is made from what a stranger typed: it is escaped, and what is long is cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from html import escape
from itertools import takewhile

from explorer import limits
from explorer.trace.text import join_names, outside_numbers, shortened

#: How many equal characters are shown at most, and how many are left of more.
_FAR, _SHOWN_BEFORE = 24, 12


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
    if max(len(old), len(new)) <= limits.CHANGE_COMPARED:
        matches = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        blocks = [tuple(places) for tag, *places in matches if tag != "equal"]  # type: ignore[misc]
    for old_from, old_to, new_from, new_to in blocks:
        for place in range(old_from, old_to):
            yield ChangedLine("-", start + place + 1, old[place], start + new_from + 1)
        for place in range(new_from, new_to):
            yield ChangedLine("+", start + place + 1, new[place], start + place + 1)


def fix_html(before: str, fix: str | None, *, rest: str = "") -> str:
    """The change from the program that was run to its fix, with Apply (drag.js listens); nothing
    without a fix. `rest` is what follows the program in the editor."""
    if fix is None:
        return ""
    lines = changed_lines(before, fix)
    return f'<div class="ax-fix">{diff_html(lines)}{_button(fix + rest, lines)}</div>'


def room_html(before: str, fix: str | None) -> str:
    """The room that the change takes, without it."""
    if fix is None:
        return ""
    lines = [
        replace(line, number=1, text="x")
        for line in changed_lines(before, fix)[: limits.CHANGE_LINES]
    ]
    room = '<button type="button" class="ax-apply" disabled>Apply</button>'
    return f'<div class="ax-fix">{diff_html(tuple(lines))}{room}</div>'


def diff_html(lines: tuple[ChangedLine, ...]) -> str:
    """Changed lines, each with its number and a sign."""
    shown = lines[: limits.CHANGE_LINES]
    rows = "".join(_row(line, _beginning(line, shown)) for line in shown)
    more = len(lines) - limits.CHANGE_LINES
    rows += f"<span>… {more} more line{'s' if more > 1 else ''}</span>" if more > 0 else ""
    return f'<div class="ax-diff" tabindex="0" role="region" aria-label="Change">{rows}</div>'


def _beginning(line: ChangedLine, lines: tuple[ChangedLine, ...]) -> int:
    """Where the shown part of a line begins: a little before the first character that differs from
    the line in whose place it is, if that is far to the right."""
    others = [o.text for o in lines if o.place == line.place and o.sign != line.sign]
    pairs = zip(line.text, others[0], strict=False) if others else ()
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return outside_numbers(line.text, same - _SHOWN_BEFORE) if same > _FAR else 0


def _row(line: ChangedLine, start: int) -> str:
    tag, sign = ("ins", "+") if line.sign == "+" else ("del", "−")
    text = f"…{line.text[start:]}" if start else line.text
    code = escape(shortened(text, limits.CHANGE_CHARACTERS))
    return f"<{tag}><i>{line.number}</i><b>{sign}</b><code>{code}</code></{tag}>"


def _button(fix: str, lines: tuple[ChangedLine, ...]) -> str:
    """The new lines, and the places of those that are gone, will be marked in the editor. The
    program is JSON: the browser takes spaces and line breaks from the ends of an attribute."""
    new = {line.place for line in lines if line.sign == "+"}
    gone = {line.place for line in lines if line.sign == "-"} - new
    data = {
        "fix": json.dumps(fix),
        "added": " ".join(map(str, sorted(new)[: limits.CHANGE_MARKS])),
        "removed": " ".join(map(str, sorted(gone)[: limits.CHANGE_MARKS])),
        "said": _said(lines),
    }
    attributes = " ".join(f'data-{name}="{escape(value)}"' for name, value in data.items())
    return f'<button type="button" class="ax-apply" {attributes}>Apply</button>'


def _said(lines: tuple[ChangedLine, ...]) -> str:
    """What the change does, in a sentence."""
    new = [line.number for line in lines if line.sign == "+"]
    gone = [line.number for line in lines if line.sign == "-"]
    numbers, verb = new or gone, "changed" if new and gone else "added" if new else "removed"
    if not numbers:
        return "The program was changed."
    if len(numbers) == 1:
        return f"Line {numbers[0]} was {verb}."
    if len(numbers) <= 4:
        return f"Lines {join_names([str(n) for n in numbers])} were {verb}."
    return f"{len(numbers)} lines were {verb}."
