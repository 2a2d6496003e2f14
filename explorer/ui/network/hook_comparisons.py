"""Two tabs that compare hooks: full with deprecated ones, and the memory that hooks keep."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from explorer.networks import BackwardHookComparison, HookExperiment, HookMemory
from explorer.networks.setting import Setting
from explorer.ui.common.widgets import columns, label, note
from explorer.ui.network.runs import await_run
from explorer.ui.network.table import to_size
from explorer.view.glossary import Html, html, term_link
from explorer.view.values import text

_FORWARD = {
    "TestNet": "return linear(x * 0.75) / 4",
    "TestNet without the division": "return linear(x * 0.75)",
}


def draw_backward_hook_comparison() -> None:
    """Draw TestNet with and without its division, each with the full and the deprecated hook."""
    comparisons: dict[str, BackwardHookComparison] | None = await_run(
        "tab", "compare_on_testnet", Setting("TestNet")
    )
    if comparisons is None:
        return
    for (name, comparison), place in zip(comparisons.items(), columns(1, 1), strict=True):
        with place:
            label(name)
            st.code(_FORWARD[name], wrap_lines=True)
            st.html(_comparison_table(comparison))
            st.html(f'<div class="ax-note">{escape(comparison.reason)}</div>')


def _comparison_table(comparison: BackwardHookComparison) -> str:
    node = comparison.nodes[0] if comparison.nodes else "nothing"
    looking = comparison.deprecated, comparison.full
    scaling = comparison.deprecated_scaled, comparison.full_scaled
    rows = [
        ("Registered on", node, "the module"),
        ("grad_input", *(_received(run, "grad_input") for run in looking)),
        ("grad_output", *(_received(run, "grad_output") for run in looking)),
    ]
    names = [c.name for c in scaling[0].changes or scaling[1].changes]
    scaled = [(_grad_of(name), *(_after(run, name) for run in scaling)) for name in names]
    condition = f"If the hook returns grad_input × {comparison.amount:g}:"
    middle = f'<tr class="ax-condition"><th colspan="3">{condition}</th></tr>'
    deprecated = term_link("deprecated_hook", "deprecated")
    head = f"<tr><td></td><th>{_breakable('register_backward_hook')} ({deprecated})</th>"
    full = term_link("full_backward_hook", "full")
    head += f"<th>{_breakable('register_full_backward_hook')} ({full})</th></tr>"
    return (
        f'<table class="ax-plain ax-comparison">{head}{_rows(rows)}{middle}{_rows(scaled)}</table>'
    )


def _rows(rows: Sequence[tuple[str, ...]]) -> str:
    return "".join(
        f"<tr><th>{_breakable(title)}</th><td><pre>{deprecated}</pre></td>"
        f"<td><pre>{full}</pre></td></tr>"
        for title, deprecated, full in rows
    )


def _breakable(name: str) -> str:
    """A name that may break between its parts where there is little room."""
    return escape(name).replace("_", "_<wbr>").replace(".", ".<wbr>")


def _grad_of(name: str) -> str:
    return "input.grad" if name.startswith("input ") else f"{name}.grad"


def _received(run: HookExperiment, label: str) -> str:
    event = next(iter(run.events), None)
    values = [v for v in event.values if v.label.startswith(label)] if event else []
    return escape("(" + ", ".join(text(v.value, rows=1, columns=4) for v in values) + ")")


def _after(run: HookExperiment, name: str) -> str:
    if run.error is not None:
        return escape(run.error.message)
    change = next((c for c in run.changes if c.name == name), None)
    if change is None:
        return "None"
    after = escape(text(change.after, rows=1, columns=4))
    if change.same:
        return f"{after}\nunchanged"
    before = escape(text(change.before, rows=1, columns=4))
    return f'<b class="ax-changed-value">{after}</b>\nwas {before}'


_CODE = {
    "hook that prints": "output.register_hook(print)",
    "hook that stores": "output.register_hook(gradients.append)",
    "retain_grad": "output.retain_grad()",
}


def draw_hook_memory(setting: Setting) -> None:
    """Draw the memory that three ways of reading gradients keep, measured on this network."""
    memory: tuple[HookMemory, ...] | None = await_run("tab", "compare_hook_memory", setting)
    if memory is None:
        return
    st.html(_memory_table(memory))
    note(
        "Each reads the gradient of every layer's output. The memory is measured after backward, "
        "by weak references to each gradient. The gradients of parameters and inputs are not "
        "counted."
    )


def _reader(name: str) -> Html:
    """The name of a way to read gradients, which begins with a glossary term."""
    first, space, rest = name.partition(" ")
    return html(term_link(first, first), space + rest)


def _memory_table(memory: Sequence[HookMemory]) -> str:
    largest = max((row.bytes for row in memory), default=0) or 1
    rows = "".join(
        f"<tr><th>{_reader(row.reader)}</th><td><code>{_CODE.get(row.reader, '')}</code></td>"
        f"<td>{row.gradients}</td><td>{row.blocks}</td><td>{to_size(row.bytes)}</td>"
        f'<td><i class="ax-bar" style="width:{9 * row.bytes / largest:.2f}rem"></i></td></tr>'
        for row in memory
    )
    head = (
        "<tr><td></td><td></td><th>Gradients read</th><th>Still in memory</th><th>Memory</th>"
        "<td></td></tr>"
    )
    return f'<table class="ax-plain ax-memory">{head}{rows}</table>'
