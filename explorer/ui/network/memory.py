"""The Memory tab: what is in memory during forward and backward, in four modes, and what hooks
keep."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from explorer.networks import Report
from explorer.networks.hooks import HookMemory
from explorer.networks.memory import (
    AUTOCAST,
    CHECKPOINTING,
    INFERENCE,
    MODES,
    PLAIN,
    RECOMPUTATION,
    MemoryPoint,
    MemoryRun,
)
from explorer.networks.settings import Settings
from explorer.trace.colours import COMPARED, FIGURE_TEXT
from explorer.ui.network.charts import draw_chart, field, nominal
from explorer.ui.network.runs import await_run
from explorer.ui.network.selection import Shown
from explorer.ui.network.table import figures_table, to_size
from explorer.ui.widgets.basics import choice, columns, label, note, refuse
from explorer.ui.widgets.mounts import mount_table
from explorer.view.glossary import Html, html, term_link
from explorer.view.table import Column, Row

_MB = 2**20
PASS, HOOKS = "Forward and backward", "Kept by hooks"
#: The term of each mode, and what it is called.
_TERMS = {
    CHECKPOINTING: "checkpointing",
    INFERENCE: "inference_mode",
    AUTOCAST: "autocast",
}
_KEPT = (
    Column("Layer", "The innermost module whose forward saved it", "name", "layer"),
    Column("Kept for backward", "What is saved in two layers counts for the first", "number"),
    Column("Share", "", "number"),
)


def draw_memory_tab(shown: Shown) -> None:
    """Draw the memory of the whole pass, or the memory that hooks keep."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        which = choice(
            "Memory of",
            "memory",
            [PASS, HOOKS],
            "Memory of the whole pass, or memory that hooks keep",
        )
        modes = _choose_modes() if which == PASS and shown.report.error is None else []
    if which == HOOKS:
        _draw_hook_memory(shown.settings)
    elif shown.report.error is not None:
        note("The memory is measured over the whole pass. This run ends with an error before that.")
    else:
        runs = [
            await_run(f"memory-{mode}", "follow_memory", shown.settings, mode=mode)
            for mode in modes
        ]
        _draw_runs([run for run in runs if run is not None], shown)


def _choose_modes() -> list[str]:
    chosen = st.pills(
        "Modes",
        MODES,
        selection_mode="multi",
        default=[PLAIN, CHECKPOINTING, INFERENCE],
        key="memory-modes",
        format_func=str.capitalize,
        label_visibility="collapsed",
        help="Checkpointing recomputes each block in backward. Inference mode runs forward alone. "
        "Autocast computes in bfloat16",
    )
    return [mode for mode in MODES if mode in chosen] or [PLAIN]


def _draw_runs(runs: Sequence[MemoryRun], shown: Shown) -> None:
    for run in runs:
        if run.error is not None:
            refuse(f"{run.mode.capitalize()}: {run.error.message}")
        elif run.mode == CHECKPOINTING and not run.blocks:
            note(
                "Checkpointing needs blocks of several layers. This network has none: the input of "
                "each layer is the output of another, so nothing would be saved."
            )
    measured = [run for run in runs if run.points and run.error is None]
    if not measured:
        return
    left, right = columns(0.66, 0.34)
    with left:
        label(*_headline(measured))
        _draw_chart(measured)
        st.html(_table(measured, shown.report))
    with right:
        _draw_kept(measured[0], shown)
    note(*_explanation(measured))


def _headline(runs: Sequence[MemoryRun]) -> tuple[str, ...]:
    first = runs[0]
    assert first.peak is not None
    rest = f", not counting {to_size(first.parameters)} of parameters"
    parts: list[str] = [
        term_link("peak_memory", "Peak"),
        f" {to_size(first.peak.bytes)} {_place(first.peak)}{rest}",
    ]
    for run in runs[1:]:
        assert run.peak is not None
        more = ""
        if run.mode == CHECKPOINTING and first.mode == PLAIN and run.macs and first.macs:
            more = f", {run.macs / first.macs:.2f} × the multiply-adds"
        parts += ["; ", _mode(run.mode), f" {to_size(run.peak.bytes)}{more}"]
    return *parts, "."


def _place(point: MemoryPoint) -> str:
    return f"in {point.during} of {_layer_name(point.layer)}"


def _mode(mode: str) -> Html:
    return term_link(_TERMS[mode], mode) if mode in _TERMS else html(mode)


def _table(runs: Sequence[MemoryRun], report: Report) -> str:
    rows = ""
    for run in runs:
        assert run.peak is not None
        cells = (
            to_size(run.peak.bytes),
            f"{_place(run.peak)} ({run.peak.operation})",
            to_size(run.kept_bytes),
            f"{report.total_macs if run.macs is None else run.macs:,}",
        )
        swatch = f'<i class="ax-swatch" style="background:{_colour(run.mode)}"></i>'
        values = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        rows += f"<tr><th>{swatch}{_mode(run.mode)}</th>{values}</tr>"
    head = ("", "Peak", "Where", "Kept for backward", "MACs")
    return figures_table(head, rows, "Peak memory in each mode", kind="ax-modes")


def _explanation(runs: Sequence[MemoryRun]) -> tuple[str, ...]:
    parts = [
        "Everything that operations allocate: activations, what is ",
        term_link("saved", "saved for backward"),
        ", gradients. Parameters and inputs are not counted: they are there all the time. ",
    ]
    if not all(run.scratch for run in runs):
        parts.append("Memory that an operation frees before it returns is not counted here. ")
    blocks = next((run.blocks for run in runs if run.blocks), ())
    if blocks:
        shown = ", ".join(name or "the whole sequence" for name in blocks[:4])
        more = f" and {len(blocks) - 4} more" if blocks[4:] else ""
        parts.append(f"Checkpointing recomputes {shown}{more}.")
    return tuple(parts)


def _draw_kept(run: MemoryRun, shown: Shown) -> None:
    total, selected = run.kept_bytes, shown.layer
    label(f"Kept for backward: {to_size(total)}")
    if not run.kept:
        note("Nothing: without autograd, each value is freed as soon as no layer needs it.")
        return
    kept_first = run.kept[:200]
    rows = [
        Row(i, (_layer_name(kept.layer), to_size(kept.bytes), f"{kept.bytes / total:.0%}"))
        for i, kept in enumerate(kept_first)
    ]
    positions = [i for i, kept in enumerate(kept_first) if selected and kept.layer == selected]

    def clicked(position: int | None) -> None:
        shown.select_layer("" if position is None else kept_first[position].layer or "")

    mount_table(
        _KEPT,
        rows,
        key="kept-memory",
        label="Memory that each layer keeps for backward",
        total=len(run.kept),
        selected=positions[0] if positions else None,
        on_choose=clicked,
    )


def _colour(mode: str) -> str:
    return COMPARED[MODES.index(mode)]


# -- the chart ------------------------------------------------------------------------------------


def _draw_chart(runs: Sequence[MemoryRun]) -> None:
    """One line per mode, its peak marked, and the values at the operation under the pointer."""
    points = [(run, point) for run in runs for point in run.points]
    draw_chart(
        {
            "operation number": [point.step + 1 for _, point in points],
            "MB": [point.bytes / _MB for _, point in points],
            "saved MB": [point.saved / _MB for _, point in points],
            "gradients MB": [point.gradients / _MB for _, point in points],
            "mode": [run.mode for run, _ in points],
            "layer": [_layer_name(point.layer) for _, point in points],
            "pass": [point.during for _, point in points],
            "operation": [point.operation or "end" for _, point in points],
            "again": [point.during == RECOMPUTATION for _, point in points],
            "peak": [
                to_size(p.bytes) if p is run.peak or p == run.peak else "" for run, p in points
            ],
        },
        {"layer": [_forward_area(runs[0]), _LINES]},
        height=280,
        key="memory-chart",
        alt="Memory in use over the pass",
    )


def _layer_name(name: str | None) -> str:
    """Where an operation was done, in words."""
    return "the loss" if name is None else name or "the model's own code"


def _forward_area(run: MemoryRun) -> dict[str, Any]:
    """The forward pass, shaded and named, and the name of backward after it."""
    spans = [("forward", 0, run.forward_steps), ("backward", run.forward_steps, run.steps)]
    return {
        "data": {"values": [{"name": n, "start": a, "end": b} for n, a, b in spans if b > a]},
        "encoding": {"x": field("start")},
        "layer": [
            {
                "transform": [{"filter": "datum.name == 'forward'"}],
                "mark": {"type": "rect", "color": FIGURE_TEXT, "opacity": 0.12},
                "encoding": {"x2": {"field": "end"}},
            },
            {
                "mark": {"type": "text", "baseline": "top", "color": FIGURE_TEXT} | _NAME,
                "encoding": {"y": {"value": 0}, "text": field("name", "nominal")},
            },
        ],
    }


_NAME = {"align": "left", "dx": 4, "dy": 8, "fontSize": 11}
_PEAK = [{"filter": "datum.peak != ''"}]
_TOOLTIP = [
    *nominal("mode", "layer", "pass", "operation"),
    field("MB", format=".4g"),
    field("saved MB", format=".4g", title="saved for backward, MB"),
    field("gradients MB", format=".4g", title="gradients, MB"),
]
_POINTER = {
    "name": "pointer",
    "select": {
        "type": "point",
        "nearest": True,
        "on": "pointermove",
        "clear": "pointerout",
        "fields": ["operation number", "mode"],
    },
}
_LINES: dict[str, Any] = {
    "encoding": {
        "x": field("operation number", title="Operations", scale={"nice": False}),
        "y": field("MB", title="MB in use"),
        "color": field(
            "mode",
            "nominal",
            scale={"domain": list(MODES), "range": list(COMPARED)},
            legend=None,
        ),
    },
    "layer": [
        {"mark": {"type": "line", "strokeWidth": 1.6}},
        {
            "transform": [{"filter": "datum.again"}],
            "mark": {"type": "circle", "size": 14, "opacity": 0.8, "aria": False},
        },
        {
            "transform": _PEAK,
            "mark": {"type": "point", "size": 70, "filled": False, "strokeWidth": 2},
        },
        {
            "transform": _PEAK,
            "mark": {"type": "text", "dy": -10, "fontSize": 11, "fontWeight": "bold"},
            "encoding": {"text": field("peak", "nominal")},
        },
        {
            "mark": {"type": "circle", "size": 70},
            "params": [_POINTER],
            "encoding": {
                "opacity": {
                    "condition": {"param": "pointer", "empty": False, "value": 1},
                    "value": 0,
                },
                "tooltip": _TOOLTIP,
            },
        },
    ],
}


# -- memory that hooks keep -----------------------------------------------------------------------

_CODE = {
    "hook that prints": "output.register_hook(print)",
    "hook that stores": "output.register_hook(gradients.append)",
    "retain_grad": "output.retain_grad()",
}


def _draw_hook_memory(settings: Settings) -> None:
    """Draw the memory that three ways of reading gradients keep, measured on this network."""
    memory: tuple[HookMemory, ...] | None = await_run("tab", "compare_hook_memory", settings)
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
