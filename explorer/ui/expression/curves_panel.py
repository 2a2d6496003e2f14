"""The loss and each leaf's gradient norm over all backward passes, as charts and as a file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from functools import partial
from html import escape

import streamlit as st

from explorer.trace import Trace
from explorer.trace.records import Curve
from explorer.trace.text import shortened
from explorer.ui.common.plot import MOST, Axis, Line, Plot, around, draw_plots
from explorer.ui.common.widgets import download, note
from explorer.ui.expression import iterations

#: Heights of the charts in CSS pixels.
_LOSS, _NORM = 200, 142
#: Most characters of a name, and most values that are not finite, in a sentence.
_NAME, _LISTED = 40, 4


def curves_panel(trace: Trace, shown: int | None) -> None:
    """Draw the curves, with a line at the pass that is `shown`; a click goes to another."""
    if not trace.curves:
        note("No backward pass starts from a single number, and no leaf takes part in two of them.")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        words = " ".join(filter(None, (_about(trace), describe_nonfinite(trace.curves))))
        st.html(f'<div class="ax-note">{escape(words)}</div>', width="stretch")
        download(
            partial(to_csv, trace.curves),
            "curves.csv",
            "Downloads the losses and gradient norms of all passes that were kept",
            key="curves",
            label="CSV",
            mime="text/csv",
        )
    chosen = draw_plots(
        {
            f"curve-{i}": (to_plot(curve, trace.pass_count, shown), height)
            for i, curve in enumerate(trace.curves)
            for height in (_LOSS if curve.kind == "loss" else _NORM,)
        },
        "",
        key="curves",
        choose=True,
    )
    if chosen is not None:
        iterations.go_to(chosen)


def title(curve: Curve) -> str:
    """What a curve follows."""
    return "loss" if curve.kind == "loss" else f"gradient norm of {shortened(curve.name, _NAME)}"


def to_plot(curve: Curve, count: int, shown: int | None) -> Plot:
    """One curve over `count` passes; what is not finite becomes a gap."""
    finite = [value for value in curve.values if math.isfinite(value)]
    ends = f", from {finite[0]:.4g} to {finite[-1]:.4g}" if finite else ""
    return Plot(
        Axis("backward pass", 1 - 0.01 * count, count + 0.01 * count),
        around(curve.values, title(curve)),
        (Line(curve.at, curve.values, dots=len(curve.at) <= 40),),
        f"The {title(curve)} at each backward pass{ends}",
        mark=shown,
        pointer=True,
        wide=curve.kind == "loss",
    )


def _about(trace: Trace) -> str:
    longest = max(len(curve.at) for curve in trace.curves)
    shortest = min(len(curve.at) for curve in trace.curves)
    some = f" Of {trace.pass_count:,} passes, some are drawn, evenly spaced."
    thinned = longest > MOST or shortest < trace.pass_count
    return "Click a point to see its backward pass." + some * thinned


def describe_nonfinite(curves: Sequence[Curve]) -> str:
    """Where each curve is not finite for the first time, in one sentence; empty if none is."""
    first = sorted(
        (at, title(curve), value)
        for curve in curves
        for at, value in zip(curve.at, curve.values, strict=True)
        if not math.isfinite(value)
    )
    places: dict[str, str] = {}
    for at, name, value in first:
        places.setdefault(name, f"{name} at pass {at:,} ({value})")
    listed = list(places.values())
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    gaps = ", ".join(listed[:_LISTED])
    return f"Not finite, so drawn as a gap; first: {gaps}{more}." if listed else ""


def to_csv(curves: Sequence[Curve]) -> bytes:
    """A row for each pass, a column for each curve; a value that was not kept is empty."""
    columns = [dict(zip(curve.at, curve.values, strict=True)) for curve in curves]
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["backward pass", *map(title, curves)])
    for at in sorted({at for column in columns for at in column}):
        rows.writerow([at, *(column.get(at, "") for column in columns)])
    return out.getvalue().encode()
