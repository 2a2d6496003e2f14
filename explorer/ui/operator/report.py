"""The numbers of the operator's page, as plain data."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from streamlit import runtime
from streamlit.runtime.stats import ACTIVE_SESSIONS_FAMILY, GaugeStat

from explorer.ui.common import activity, job_queue, shared_call
from explorer.ui.common.pages import page as page_of
from explorer.ui.operator import processes

#: How many seconds "lately" goes back.
LATELY = 300.0


@dataclass(frozen=True)
class Times:
    """How often something happened lately, and the median and the 95th percentile of its seconds;
    None if it did not happen."""

    count: int
    median: float | None
    p95: float | None


@dataclass(frozen=True)
class Report:
    """One moment of this process. `processors` is how many were busy since the report before."""

    at: float
    readers: int | None
    pages: dict[str, Times]
    programs: Times
    waited: Times
    running: int
    waiting: int
    networks_waiting: int
    usage: processes.Usage | None
    limit: int | None
    processors: float | None
    errors: Sequence[activity.LoggedError]


def make_report(before: Report | None) -> Report:
    """What is known now; `before` is the report that was made last, if there is one."""
    now = time.monotonic()
    runs = [run for run in list(activity.page_runs) if run.ended > now - LATELY]
    pages = {key: [run.seconds for run in runs if run.page == key] for key in _keys(runs)}
    programs = [run for run in list(activity.program_runs) if run.ended > now - LATELY]
    running, waiting = shared_call.count_under_way()
    usage, processors = processes.usage(), None
    if before is not None and before.usage is not None and usage is not None:
        passed = max(1e-3, now - before.at)
        processors = max(0.0, usage.processor - before.usage.processor) / passed
    return Report(
        now,
        connected(),
        {"All pages": times([run.seconds for run in runs])}
        | {page_of(key).title: times(seconds) for key, seconds in pages.items()},
        times([run.seconds for run in programs]),
        times([run.waited for run in programs]),
        running,
        waiting,
        job_queue.job_queue().count_waiting(),
        usage,
        processes.memory_limit(),
        processors,
        list(activity.errors)[::-1],
    )


def times(seconds: Sequence[float]) -> Times:
    if len(seconds) < 2:
        one = seconds[0] if seconds else None
        return Times(len(seconds), one, one)
    p95 = quantiles(seconds, n=20, method="inclusive")[-1]
    return Times(len(seconds), median(seconds), p95)


def connected() -> int | None:
    """How many readers are connected; None outside a server."""
    if not runtime.exists():
        return None
    families = runtime.get_instance().stats_mgr.get_stats([ACTIVE_SESSIONS_FAMILY])
    stats = families.get(ACTIVE_SESSIONS_FAMILY, ())
    return round(sum(stat.value for stat in stats if isinstance(stat, GaugeStat)))


def processor_count() -> int:
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def _keys(runs: Iterable[activity.PageRun]) -> list[str]:
    return sorted({run.page for run in runs})
