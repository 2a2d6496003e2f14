"""The report: tables for the screen and for LOAD.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchmarks.load.crowd import Crowd, median_and_p95
from benchmarks.load.mix import ACTIONS, PAGES
from benchmarks.load.reader import INTERVAL, JITTER
from benchmarks.load.serving import Usage
from benchmarks.machine import describe_machine

#: The limit of the 95th percentile, in seconds.
LIMIT = 1.0
_MB = 2**20


def machine() -> str:
    """A list of the machine's properties."""
    return "\n".join(f"- {what}: {which}" for what, which in describe_machine().items())


def crowds_table(crowds: Sequence[Crowd]) -> str:
    """One row for each crowd."""
    rows = [
        [
            str(c.readers),
            str(len(c.done)),
            f"{len(c.done) / c.seconds:.1f}",
            *(f"{t:.2f}" for t in median_and_p95(c.done)),
            str(len(c.errors)),
            f"{c.server:.2f}",
            f"{c.client:.2f}",
            f"{c.peak.pss / _MB:,.0f}",
        ]
        for c in crowds
    ]
    times_and_errors = ["median, s", "95th percentile, s", "errors"]
    load = ["server's processors", "readers' processors", "peak, MB"]
    return _table(["readers", "actions", "actions/s", *times_and_errors, *load], rows)


def capacity(crowds: Sequence[Crowd]) -> str:
    """The number of readers at which the 95th percentile exceeds the limit."""
    within = [c.readers for c in crowds if median_and_p95(c.done)[1] <= LIMIT]
    over = [c.readers for c in crowds if median_and_p95(c.done)[1] > LIMIT]
    if not over:
        most = f"{max(within)} readers (the most tried)"
        return f"The 95th percentile stays below {LIMIT:g} s up to {most}."
    if not [n for n in within if n < min(over)]:
        return (
            f"The 95th percentile exceeds {LIMIT:g} s with {min(over)} readers (the fewest tried)."
        )
    last = max(n for n in within if n < min(over))
    return f"The 95th percentile exceeds {LIMIT:g} s between {last} and {min(over)} readers."


def actions_table(crowd: Crowd) -> str:
    """One row for each kind of action."""
    rows = []
    for action in ACTIONS:
        done = [one for one in crowd.done if one.action is action]
        if done:
            failed = sum(bool(one.error) for one in done)
            both = (f"{t:.2f}" for t in median_and_p95(done))
            rows.append(
                [action.page, action.name, action.input, str(len(done)), *both, str(failed)]
            )
    both = (f"{t:.2f}" for t in median_and_p95(crowd.done))
    rows.append(["all", "", "", str(len(crowd.done)), *both, str(len(crowd.errors))])
    head = ["page", "action", "input", "count", "median, s", "95th percentile, s", "errors"]
    return _table(head, rows)


def mix() -> str:
    """The pages and actions of the mix, with their shares."""
    rows = [[a.page, a.name, a.input, f"{a.weight:g}"] for a in ACTIONS if a.weight]
    pages = ", ".join(f"{page} {share:g} %" for page, share in PAGES.items())
    table = _table(["page", "action", "input", "share of the page, %"], rows)
    return (
        f"Pages: {pages}. One action every {INTERVAL:g} s (± {JITTER:g} s) per reader.\n\n{table}"
    )


def memory_table(moments: dict[str, Usage]) -> str:
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
        for when, u in moments.items()
    ]
    head = ["moment", "memory, MB", "app's process, MB", "connected", "processes", "threads"]
    return _table(head, rows)


def errors_list(crowds: Sequence[Crowd]) -> str:
    """Each different error, and how often it occurred."""
    count = Counter(
        f"{one.action.page}, {one.action.name}: {one.error[:300]}"
        for c in crowds
        for one in c.errors
    )
    lines = [f"- {number}× {' '.join(text.split())}" for text, number in count.most_common(20)]
    return "\n".join(lines) or "None."


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
