"""The Memory tab: what is in memory during forward and backward, in four modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import streamlit as st

from explorer.networks import MODES, MemoryPoint, MemoryRun, Report
from explorer.networks.memory import AUTOCAST, CHECKPOINTING, INFERENCE, PLAIN
from explorer.networks.setting import Setting
from explorer.trace.colours import COMPARED
from explorer.ui.common.mounts import mount_table
from explorer.ui.common.widgets import choice, columns, label, note, refuse, scrolling
from explorer.ui.network import hook_comparisons
from explorer.ui.network.memory_chart import draw_memory_chart, layer_name
from explorer.ui.network.runs import await_run
from explorer.ui.network.table import to_size
from explorer.view.glossary import Html, html, term_link
from explorer.view.table import Column, Row

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


def draw_memory_tab(
    setting: Setting, report: Report, layer: str | None, select: Callable[[str], None]
) -> None:
    """Draw the memory of the whole pass, or the memory that hooks keep."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        shown = choice(
            "Memory of",
            "memory",
            [PASS, HOOKS],
            "Memory of the whole pass, or memory that hooks keep",
        )
        modes = _choose_modes() if shown == PASS and report.error is None else []
    if shown == HOOKS:
        hook_comparisons.draw_hook_memory(setting)
    elif report.error is not None:
        note("The memory is measured over the whole pass. This run ends with an error before that.")
    else:
        runs = [await_run(f"memory-{mode}", "follow_memory", setting, mode=mode) for mode in modes]
        _draw_runs([run for run in runs if run is not None], report, layer, select)


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


def _draw_runs(
    runs: Sequence[MemoryRun], report: Report, layer: str | None, select: Callable[[str], None]
) -> None:
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
        draw_memory_chart(measured)
        st.html(scrolling(_table(measured, report), "Peak memory in each mode"))
    with right:
        _draw_kept(measured[0], layer, select)
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
    return f"in {point.during} of {layer_name(point.layer)}"


def _mode(mode: str) -> Html:
    return term_link(_TERMS[mode], mode) if mode in _TERMS else html(mode)


def _table(runs: Sequence[MemoryRun], report: Report) -> str:
    head = "<tr><td></td><th>Peak</th><th>Where</th><th>Kept for backward</th><th>MACs</th></tr>"
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
    return f'<table class="ax-plain ax-figures ax-modes">{head}{rows}</table>'


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


def _draw_kept(run: MemoryRun, selected: str | None, select: Callable[[str], None]) -> None:
    total = run.kept_bytes
    label(f"Kept for backward: {to_size(total)}")
    if not run.kept:
        note("Nothing: without autograd, each value is freed as soon as no layer needs it.")
        return
    shown = run.kept[:200]
    rows = [
        Row(i, (layer_name(kept.layer), to_size(kept.bytes), f"{kept.bytes / total:.0%}"))
        for i, kept in enumerate(shown)
    ]
    positions = [i for i, kept in enumerate(shown) if selected and kept.layer == selected]

    def clicked(position: int | None) -> None:
        select("" if position is None else shown[position].layer or "")

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
