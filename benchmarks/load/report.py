"""The report: tables for the screen and for LOAD.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchmarks.load.crowd import Crowd, times
from benchmarks.load.mix import ACTIONS, PAGES
from benchmarks.load.reader import EVERY, STRAY
from benchmarks.load.serving import Usage
from benchmarks.machine import described

#: The 95 % that a crowd may reach.
LIMIT = 1.0
_MB = 2**20


def machine() -> str:
    """What it ran on."""
    return "\n".join(f"- {what}: {which}" for what, which in described().items())


def crowds(found: Sequence[Crowd]) -> str:
    """One row for each crowd."""
    rows = [
        [
            str(c.readers),
            str(len(c.done)),
            f"{len(c.done) / c.seconds:.1f}",
            *(f"{t:.2f}" for t in times(c.done)),
            str(len(c.errors)),
            f"{c.server:.2f}",
            f"{c.client:.2f}",
            f"{c.peak.pss / _MB:,.0f}",
        ]
        for c in found
    ]
    head = "readers, actions, actions/s, median s, 95 % s, errors, server's processors"
    return _table([*head.split(", "), "readers' processors", "peak MB"], rows)


def most(found: Sequence[Crowd]) -> str:
    """The number of readers at which the 95 % passes the limit."""
    fine = [c.readers for c in found if times(c.done)[1] <= LIMIT]
    over = [c.readers for c in found if times(c.done)[1] > LIMIT]
    if not over:
        return f"The 95 % stays within {LIMIT:g} s up to {max(fine)} readers, the most tried."
    if not [n for n in fine if n < min(over)]:
        return f"The 95 % passes {LIMIT:g} s with {min(over)} readers, the fewest tried."
    last = max(n for n in fine if n < min(over))
    return f"The 95 % passes {LIMIT:g} s between {last} and {min(over)} readers."


def kinds(crowd: Crowd) -> str:
    """One row for each kind of action."""
    rows = []
    for action in ACTIONS:
        done = [one for one in crowd.done if one.action is action]
        if done:
            wrong = sum(bool(one.error) for one in done)
            both = (f"{t:.2f}" for t in times(done))
            rows.append([action.page, action.name, action.input, str(len(done)), *both, str(wrong)])
    both = (f"{t:.2f}" for t in times(crowd.done))
    rows.append(["all", "", "", str(len(crowd.done)), *both, str(len(crowd.errors))])
    return _table(["page", "action", "input", "times", "median s", "95 % s", "errors"], rows)


def mix() -> str:
    """The mix as it was asked for."""
    rows = [[a.page, a.name, a.input, f"{a.weight:g}"] for a in ACTIONS if a.weight]
    pages = ", ".join(f"{page} {share:g} %" for page, share in PAGES.items())
    table = _table(["page", "action", "input", "share of the page, %"], rows)
    return f"Pages: {pages}. One action every {EVERY:g} s (± {STRAY:g} s) per reader.\n\n{table}"


def usages(found: dict[str, Usage]) -> str:
    """One row for each moment."""
    rows = [
        [
            when,
            f"{u.pss / _MB:,.0f}",
            f"{u.app / _MB:,.0f}",
            str(u.sessions),
            str(u.processes),
            str(u.threads),
        ]
        for when, u in found.items()
    ]
    head = ["moment", "memory MB", "of it the app's process", "connected", "processes", "threads"]
    return _table(head, rows)


def errors(found: Sequence[Crowd]) -> str:
    """Each different error, and how often it came."""
    count = Counter(
        f"{one.action.page}, {one.action.name}: {one.error[:300]}"
        for c in found
        for one in c.errors
    )
    lines = [f"- {times}× {' '.join(text.split())}" for text, times in count.most_common(20)]
    return "\n".join(lines) or "None."


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
