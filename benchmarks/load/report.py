"""Tables for the screen and for benchmarks/LOAD.md, and the file itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median

from benchmarks.load.crowd import Crowd, median_and_p95
from benchmarks.load.mix import ACTIONS, MIX, PAGES
from benchmarks.load.serving import Usage
from benchmarks.machine import describe_machine

FILE = Path(__file__).parent.parent / "LOAD.md"
_HEAD = """\
# Load

Written by `python -m benchmarks.load`; each section says with which command and when. The server \
and the readers share {processors} processors. Each reader has a real Streamlit session without a \
browser (`benchmarks/load/tab.py`), with its cookies and its connecting again, and every answer is \
checked. What happens in the first seconds, while the readers come, is not counted.

{machine}
"""
#: The limit of the 95th percentile, in seconds.
LIMIT = 1.0
_MB = 2**20
#: How much of its processors a server uses where answers are still quick ("More readers").
_BUSY = 0.6


def machine() -> str:
    """A list of the machine's properties."""
    return "\n".join(f"- {what}: {which}" for what, which in describe_machine().items())


def crowds_table(crowds: Mapping[str, Crowd] | Sequence[Crowd]) -> str:
    """One row for each crowd, with its name if it has one."""
    named = crowds if isinstance(crowds, Mapping) else dict(enumerate(crowds))
    rows = []
    for name, c in named.items():
        row = [
            str(c.readers),
            str(len(c.done)),
            f"{len(c.done) / c.seconds:.1f}",
            *(f"{t:.2f}" for t in median_and_p95(c.done)),
            str(len(c.errors)),
            *(
                [f"{c.server:.2f}", f"{c.milliseconds:.0f}"]
                if c.peak.pss and c.server >= 0
                else ["", ""]
            ),
            f"{c.client:.2f}",
            f"{c.peak.pss / _MB:,.0f}" if c.peak.pss else "",
        ]
        rows.append(row if named is not crowds else [str(name), *row])
    times_and_errors = ["median, s", "95th percentile, s", "errors"]
    load = ["server's processors", "ms of processor per action", "readers' processors", "peak, MB"]
    head = ["readers", "actions", "actions/s", *times_and_errors, *load]
    return table(head if named is not crowds else ["", *head], rows)


def medians(crowds: Mapping[str, Sequence[Crowd]]) -> str:
    """The medians of several runs of each."""
    rows = []
    for name, runs in crowds.items():
        both = [median_and_p95(run.done) for run in runs]
        numbers = [median(m for m, _ in both), median(p for _, p in both)]
        cost = median(run.milliseconds for run in runs)
        rows.append([name, *(f"{n:.2f}" for n in numbers), f"{cost:.0f}"])
    head = ["medians of the runs", "median, s", "95th percentile, s", "ms of processor per action"]
    return table(head, rows)


def many_readers(readers: int, crowd: Crowd, untried: Crowd) -> str:
    """What many readers need, from what the actions of a crowd cost."""
    rate = readers / crowd.mix.interval
    lines = [
        f"{readers} readers with an action every {crowd.mix.interval:g} s ask for {rate:g} actions "
        f"a second:",
        "",
    ]
    for name, one in {"without the tries": untried, "with all of them": crowd}.items():
        busy = rate * one.milliseconds / 1000
        lines.append(
            f"- {name}: {rate:g} /s × {one.milliseconds:.0f} ms = {busy:.1f} processors that are "
            f"always busy; with {_BUSY:.0%} of each in use, {busy / _BUSY:.1f} processors"
        )
    return "\n".join(lines)


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
    for action in crowd.mix.actions:
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
    return table(head, rows)


def mix() -> str:
    """The pages and actions of the mix, with their shares."""
    rows = [[a.page, a.name, a.input, f"{a.weight:g}"] for a in ACTIONS if a.weight]
    pages = ", ".join(f"{page} {share:g} %" for page, share in PAGES.items())
    actions = table(["page", "action", "input", "share of the page, %"], rows)
    return (
        f"Pages: {pages}. One action every {MIX.interval:g} s (± {MIX.jitter:g} s) per reader.\n\n"
        f"{actions}"
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
    return table(head, rows)


def errors_list(crowds: Sequence[Crowd]) -> str:
    """Each different error, and how often it occurred."""
    count = Counter(
        f"{one.action.page}, {one.action.name}: {one.error[:300]}"
        for c in crowds
        for one in c.errors
    )
    lines = [f"- {number}× {' '.join(text.split())}" for text, number in count.most_common(20)]
    return "\n".join(lines) or "None."


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(sections: Mapping[str, str], order: Sequence[str], processors: int, command: str) -> None:
    """Put sections into LOAD.md in the place of those with the same titles, in this order; what was
    not measured again stays."""
    old = FILE.read_text(encoding="utf-8") if FILE.exists() else ""
    kept = dict(re.findall(r"^## ([^\n]*)\n\n(.*?)\s*(?=^## |\Z)", old, re.MULTILINE | re.DOTALL))
    stamp = f"`{command}`, {date.today()}."
    kept |= {title: f"{stamp}\n\n{text}" for title, text in sections.items()}
    kept["The mix"] = mix()
    text = _HEAD.format(processors=processors, machine=machine())
    parts = [f"## {title}\n\n{kept[title]}\n" for title in (*order, "The mix") if title in kept]
    FILE.write_text("\n".join([text, *parts]), encoding="utf-8")
    print(f"Written to {FILE}")
