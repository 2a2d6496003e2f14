"""The operator's page as it is seen: a few large numbers, two tables and the last errors."""

from __future__ import annotations

from html import escape

import streamlit as st

from explorer import sandbox
from explorer.ui.common.widgets import note
from explorer.ui.operator.report import LATELY, Report, Times, make_report, processor_count

#: Seconds between two reports.
INTERVAL = 2.0
_MB, _GB = 2**20, 2**30
_BEFORE = "operator.before"


@st.fragment(run_every=INTERVAL)
def draw_report() -> None:
    """The state of this process, again and again."""
    report = make_report(st.session_state.get(_BEFORE))
    st.session_state[_BEFORE] = report
    _draw_numbers(report)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Pages", help="Runs of whole pages. Runs of a part of a page are not counted")
        _table(("", "runs", "median, s", "95 %, s"), [*map(_times_row, report.pages.items())])
    with right:
        st.subheader(
            "Programs", help="Readers' programs, plots and networks that ran in child processes"
        )
        rows = {"waited for a turn": report.waited, "ran": report.programs}
        _table(("", "runs", "median, s", "95 %, s"), [*map(_times_row, rows.items())])
    note(f"Runs of the last {LATELY / 60:.0f} minutes, in this process alone.")
    st.subheader("Walls", help="What keeps programs from this machine; see docs/deployment.md")
    (note if sandbox.has_all_walls() else st.warning)(sandbox.describe_walls())
    st.subheader(
        "Errors", help="The last errors in the log; their tracebacks are in the log itself"
    )
    if not report.errors:
        note("None since the start.")
    else:
        _table(
            ("when", "part", "error"),
            [(one.when, one.logger, one.text[:500]) for one in report.errors],
        )


def _draw_numbers(report: Report) -> None:
    usage = report.usage
    with st.container(horizontal=True, gap="medium"):
        _number("Readers", _count(report.readers), "Browser tabs that are connected now")
        _number("Programs running", f"{report.running}", "In child processes, now")
        waiting = report.waiting + report.networks_waiting
        _number(
            "Waiting",
            f"{waiting}",
            f"{report.waiting} programs and {report.networks_waiting} networks wait for their turn",
        )
        busy = "…" if report.processors is None else f"{report.processors:.2f}"
        _number(
            "Processors",
            f"{busy} of {processor_count()}",
            f"Kept busy by this process and its children, over the last {INTERVAL:.0f} s",
        )
        if usage is not None:
            total, limit = usage.app + usage.children, report.limit
            of = f" of {limit / _GB:.1f} GB" if limit else ""
            _number(
                "Memory",
                f"{total / _MB:,.0f} MB{of}",
                f"{usage.app / _MB:,.0f} MB this process, {usage.children / _MB:,.0f} MB its "
                f"{usage.count} children",
            )


def _number(label: str, value: str, help: str) -> None:
    st.metric(label, value, help=help, width="content", border=True)


def _count(number: int | None) -> str:
    return "…" if number is None else f"{number:,}"


def _times_row(named: tuple[str, Times]) -> tuple[str, ...]:
    name, times = named
    seconds = ("–" if value is None else f"{value:.2f}" for value in (times.median, times.p95))
    return name, f"{times.count:,}", *seconds


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Everything in it is text: an error may repeat what a stranger has typed."""
    lines = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    for name, *cells in rows:
        others = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        lines.append(f"<tr><th>{escape(name)}</th>{others}</tr>")
    st.html(f'<table class="ax-plain ax-operator">{"".join(lines)}</table>')
