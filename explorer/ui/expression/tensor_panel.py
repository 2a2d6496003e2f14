"""One tensor in detail: numbers or heat map, statistics, its other versions, its events."""

from __future__ import annotations

from html import escape

import numpy as np
import streamlit as st

from explorer.trace import Array, Summary, TensorRecord, Trace
from explorer.trace.text import number, shape_text
from explorer.ui.common import heatmap, values
from explorer.ui.common.glossary import Html, html, optional_term_link, term_link
from explorer.ui.expression import events_panel
from explorer.ui.expression.selection import Picker, Selection

#: Larger tensors are also shown as a picture.
_NUMBERS = 16
#: Rows of numbers above a heat map.
_ROWS_ABOVE = 3
_MOST = 12
_READ_VIA = {".grad": (", in .grad",), "hook": (", read by a ", term_link("hook", "hook"))}


def tensor_panel(trace: Trace, picker: Picker, picked: Selection) -> None:
    """Draw the picked tensor, or say how to pick one."""
    record = picked.tensor
    if record is None:
        st.html('<div class="ax-note">Choose a row of the table, a node or a line number.</div>')
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(facts(record), width="stretch")
        _versions(trace, record, picker)
    value, gradient, history = st.columns([0.36, 0.36, 0.28], gap="medium")
    value.html(as_html("Value", record.value) + _tangent(record))
    gradient.html(as_html(gradient_title(record), record.grad))
    history.html(_history(trace, record))


def _tangent(record: TensorRecord) -> str:
    """The tangent that it carried in forward mode."""
    if record.tangent is None:
        return ""
    return as_html(html(term_link("tangent", "Tangent")), record.tangent)


def gradient_title(record: TensorRecord) -> Html:
    """The gradient's heading: how it was read."""
    return html(term_link("gradient"), *_READ_VIA.get(record.grad_from or "", ()))


def facts(record: TensorRecord) -> str:
    """One line: name, shape, type, memory, the number of in-place changes, the line."""
    parts = [
        f"{shape_text(record.shape)} {record.dtype.removeprefix('torch.')}",
        f"{record.nbytes:,} bytes",
        term_link("version", f"version {record.version}"),
        record.place,
    ]
    if record.module:
        parts.append(f"in {record.module}")
    if record.is_inference:
        parts.append(term_link("inference-tensor", "inference tensor"))
    line = " · ".join(map(html, parts))
    return f'<div class="ax-step"><b>{escape(record.name)}</b> {line}</div>'


def versions(trace: Trace, record: TensorRecord) -> list[TensorRecord]:
    """All records of that name: earlier and later values, and runs of a loop."""
    return [t for t in trace.tensors if t.name == record.name and t.scope == record.scope]


def _versions(trace: Trace, record: TensorRecord, picker: Picker) -> None:
    by_id = {t.id: t for t in versions(trace, record)}
    if len(by_id) < 2:
        return
    key = "version"
    st.session_state[key] = record.id
    st.selectbox(
        "Version",
        list(by_id),
        key=key,
        format_func=lambda n: _when(by_id[n]) if n in by_id else str(n),
        label_visibility="collapsed",
        help="The tensor before and after in-place changes, and in other iterations of a loop",
        width=230,
        on_change=lambda: picker.tensor(st.session_state[key]),
    )


def _when(record: TensorRecord) -> str:
    run = f", iteration {record.visit} of {record.visits}" if record.visits > 1 else ""
    return f"{record.place}{run}, version {record.version}"


def as_html(title: str, array: Array | None) -> str:
    """Numbers; with more than a few also a heat map, and the statistics."""
    parts = [f'<span class="ax-label">{html(title)}</span>']
    if array is None:
        return f'<div class="ax-flow">{parts[0]}<div class="ax-value">None</div></div>'
    size = int(np.prod(array.shape))
    picture = heatmap.data_url(array) if size > _NUMBERS else None
    if size > 1:
        parts.append(f'<div class="ax-from">{escape(statistics(array))}</div>')
    if not isinstance(array, Summary):
        rows = _ROWS_ABOVE if picture else values.ROWS
        parts.append(f'<div class="ax-value">{escape(values.text(array, rows=rows))}</div>')
    if picture:
        what = "its first corner" if isinstance(array, Summary) else "all its numbers"
        parts.append(
            f'<img class="ax-heat" src="{picture}" alt="Heat map of {what}: blue below zero, '
            'red above">'
        )
    if isinstance(array, Summary):
        parts.append(bars(array))
    return f'<div class="ax-flow">{"".join(parts)}</div>'


def statistics(array: Array) -> str:
    """min, max, mean and norm of the finite elements; what is not finite is counted."""
    if isinstance(array, Summary):
        numbers = (array.min, array.max, array.mean, array.norm)
        bad = array.nonfinite
    else:
        if array.dtype.kind not in "fiu":
            return ""
        finite = array[np.isfinite(array)].astype(float)
        bad = int(array.size - finite.size)
        if not finite.size:
            return f"{bad} not finite"
        norm = float(np.linalg.norm(finite))
        numbers = (float(finite.min()), float(finite.max()), float(finite.mean()), norm)
    words = zip(("min", "max", "mean", "norm"), map(number, numbers), strict=True)
    return " · ".join([*map(" ".join, words), *([f"{bad} not finite"] if bad else [])])


def bars(summary: Summary) -> str:
    """The histogram of a large tensor."""
    top = max(summary.counts, default=0) or 1
    columns = "".join(
        f'<i style="height:{100 * count / top:.0f}%" title="{count:,}"></i>'
        for count in summary.counts
    )
    ends = f"{number(summary.edges[0])} … {number(summary.edges[-1])}" if summary.edges else ""
    return f'<div class="ax-bars">{columns}</div><div class="ax-from">{escape(ends)}</div>'


def _history(trace: Trace, record: TensorRecord) -> str:
    why = ""
    if record.why_none:
        reason = f"{escape(record.why_none)} {optional_term_link(record.why_term)}"
        why = f'<div class="ax-from">.grad is None: {reason}</div>'
    events = events_panel.of(trace, record.name)[:_MOST]
    listed = events_panel.as_html(events) if events else ""
    return (
        f'<div class="ax-flow"><span class="ax-label">What happened to it</span>{why}{listed}</div>'
    )
