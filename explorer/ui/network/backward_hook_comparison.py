"""The full and the deprecated backward hook on TestNet, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from explorer.networks import BackwardHooks, Change, Event, Experiment
from explorer.ui.common.glossary import term_link
from explorer.ui.common.layout import columns
from explorer.ui.common.values import text
from explorer.ui.common.widgets import label
from explorer.ui.network import runs
from explorer.ui.network.job_progress import result

_FORWARD = {
    "TestNet": "return linear(x * 0.75) / 4",
    "TestNet without the division": "return linear(x * 0.75)",
}


def section() -> None:
    """Both networks, each with both hooks."""
    found: dict[str, BackwardHooks] | None = result("tab", "exhibit", runs.both_hooks)
    if found is None:
        return
    for (name, hooks), place in zip(found.items(), columns(1, 1), strict=True):
        with place:
            label(name)
            st.code(_FORWARD[name], wrap_lines=True)
            st.html(_table(hooks))
            st.html(f'<div class="ax-note">{escape(hooks.reason)}</div>')


def _table(hooks: BackwardHooks) -> str:
    last = hooks.nodes[0] if hooks.nodes else "nothing"
    rows = [
        ("Sits on", last, "the module"),
        ("grad_input", *(_seen(e, "grad_input") for e in (hooks.deprecated, hooks.full))),
        ("grad_output", *(_seen(e, "grad_output") for e in (hooks.deprecated, hooks.full))),
    ]
    first = hooks.deprecated_scaled.changes or hooks.full_scaled.changes
    scaled = hooks.deprecated_scaled, hooks.full_scaled
    after = [(_of(c.name), *(_after(run, c.name) for run in scaled)) for c in first]
    words = f"If the hook returns grad_input × {hooks.amount:g}:"
    cells = f'{_rows(rows)}<tr class="ax-if"><th colspan="3">{words}</th></tr>{_rows(after)}'
    old = term_link("deprecated_hook", "deprecated")
    head = f"<tr><td></td><th>{_breaking('register_backward_hook')} ({old})</th>"
    new = term_link("full_backward_hook", "full")
    head += f"<th>{_breaking('register_full_backward_hook')} ({new})</th></tr>"
    return f'<table class="ax-plain ax-both">{head}{cells}</table>'


def _rows(rows: Sequence[tuple[str, ...]]) -> str:
    return "".join(
        f"<tr><th>{_breaking(title)}</th><td><pre>{old}</pre></td><td><pre>{new}</pre></td></tr>"
        for title, old, new in rows
    )


def _breaking(name: str) -> str:
    """A name that may break between its parts where there is little room."""
    return escape(name).replace("_", "_<wbr>").replace(".", ".<wbr>")


def _of(name: str) -> str:
    return "input.grad" if name.startswith("input ") else f"{name}.grad"


def _seen(run: Experiment, label: str) -> str:
    event: Event | None = next(iter(run.events), None)
    parts = [s for s in event.seen if s.label.startswith(label)] if event else []
    return escape("(" + ", ".join(text(s.value, rows=1, columns=4) for s in parts) + ")")


def _after(run: Experiment, name: str) -> str:
    if run.error is not None:
        return escape(run.error.message)
    change: Change | None = next((c for c in run.changes if c.name == name), None)
    if change is None:
        return "None"
    after = escape(text(change.after, rows=1, columns=4))
    if change.same:
        return f"{after}\nunchanged"
    return f'<b class="ax-acted">{after}</b>\nwas {escape(text(change.before, rows=1, columns=4))}'
