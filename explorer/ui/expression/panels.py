"""What follows the reader's selection: the graph, and below it one of several panels.

Each panel is an entry of `PANELS`: that is all it takes to add one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from explorer.trace import BackwardPass, BackwardStep, TensorRecord, Trace
from explorer.ui.expression import iterations, walk
from explorer.ui.expression.gradient_check import draw_check
from explorer.ui.expression.graph_panel import GraphPanel
from explorer.ui.expression.program import LINE_VALUES, ProgramRun, failed_line, run_with_capture
from explorer.ui.expression.selection import Picker, Shown
from explorer.ui.widgets.basics import choice, download, note
from explorer.ui.widgets.drag import follow_drag
from explorer.ui.widgets.editor import draw_lines
from explorer.ui.widgets.lesson_strip import see
from explorer.ui.widgets.mounts import mount_plots, mount_table
from explorer.ui.widgets.query_params import accept_renamed
from explorer.view import checks, curves, events, tensors
from explorer.view.entry import entries_html, matrix_inputs
from explorer.view.leaves import leaf_colours
from explorer.view.live_numbers import Numbers, line_ends, page_numbers
from explorer.view.step import step_html
from explorer.view.walk import awaited

#: Heights of the charts of the loss and of a norm, in CSS pixels.
_LOSS, _NORM = 200, 142
#: By the labels in links of earlier versions.
_RENAMED = {"Table": "tensors", "Detail": "tensor", "Check": "check"}


def _draw_tensors(shown: Shown) -> None:
    trace, picked = shown.trace, shown.picked
    waits = awaited(picked, shown.backward, trace.tensors) if shown.backward else {}
    mount_table(
        tensors.tensor_columns(trace.tensors),
        tensors.tensor_rows(
            tensors.shown_tensors(trace),
            hidden=shown.run.hidden or bool(shown.run.asked and not picked.walking),
            awaited=waits,
            colours=leaf_colours(trace),
        ),
        key="tensors",
        label="Tensors of the program",
        total=len(trace.tensors),
        selected=picked.tensor.id if picked.tensor else None,
        on_choose=shown.picker.tensor,
    )


def _draw_step(shown: Shown) -> None:
    st.html(step_html(shown.picked, shown.backward))
    if shown.backward is not None and shown.picked.step is not None:
        _draw_entry(shown.backward.steps[shown.picked.step], shown.backward)


def _draw_entry(step: BackwardStep, backward: BackwardPass) -> None:
    """Where a factor is a matrix, one entry of the gradient: its row of the Jacobian."""
    inputs = matrix_inputs(step, backward)
    if not inputs:
        return
    choices = [(one, index) for one in inputs for index in one.entries]
    chosen = st.selectbox(
        "One entry of the gradient",
        choices,
        format_func=lambda choice: f"{choice[0].name}{list(choice[1]) or ''}",
        key=f"entry-{step.node}",
        help="The sum that gives it: its row of the Jacobian, times the gradient that arrives",
        width=260,
    )
    if chosen is not None:
        one, index = chosen
        st.html(*entries_html(step, one, [index]))


def _draw_tensor(shown: Shown) -> None:
    """The picked tensor in detail, or how to pick one."""
    record = shown.picked.tensor
    if record is None:
        note("Choose a row of the table, a node or a line number.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(tensors.facts(record), width="stretch")
        _choose_version(shown, record)
    columns = st.columns([0.36, 0.36, 0.28], gap="medium")
    for column, part in zip(columns, tensors.detail(shown.trace, record), strict=True):
        column.html(part)


def _choose_version(shown: Shown, record: TensorRecord) -> None:
    by_id = {t.id: t for t in tensors.versions(shown.trace, record)}
    if len(by_id) < 2:
        return
    key = "version"
    st.session_state[key] = record.id
    st.selectbox(
        "Version",
        list(by_id),
        key=key,
        format_func=lambda n: tensors.moment(by_id[n]) if n in by_id else str(n),
        label_visibility="collapsed",
        help="The tensor before and after in-place changes, and in other iterations of a loop",
        width=230,
        on_change=lambda: shown.picker.tensor(st.session_state[key]),
    )


def _draw_events(shown: Shown) -> None:
    if not shown.trace.events:
        note("No backward, hook or optimizer ran.")
        return
    with st.container(height=260, border=False):
        st.html(events.all_html(shown.trace))


def _draw_check(shown: Shown) -> None:
    draw_check(shown.trace, shown.run.upstream)


def _draw_memory(shown: Shown) -> None:
    """Hooks compared with retain_grad: the program runs again with the other."""
    trace = shown.trace
    hooked, retained = (
        trace if trace.capture == capture else run_with_capture(shown.run, capture)
        for capture in ("hook", "retain_grad")
    )
    if hooked is not None and retained is not None:
        st.html(checks.captures_html(checks.compare_captures(hooked, retained)))


def _draw_curves(shown: Shown) -> None:
    """The curves, with a line at the pass that is shown; a click goes to another."""
    trace = shown.trace
    if not trace.curves:
        note("No backward pass starts from a single number, and no leaf takes part in two of them.")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        note(curves.about(trace))
        download(
            partial(curves.to_csv, trace.curves),
            "curves.csv",
            "Downloads the losses and gradient norms of all passes that were kept",
            key="curves",
            label="CSV",
            mime="text/csv",
        )
    number = shown.backward.number if shown.backward else None
    chosen = mount_plots(
        {
            f"curve-{i}": (
                curves.to_plot(curve, trace.pass_count, number),
                _LOSS if curve.kind == "loss" else _NORM,
            )
            for i, curve in enumerate(trace.curves)
        },
        "",
        key="curves",
        choose=True,
    )
    if chosen is not None:
        iterations.go_to(chosen)


@dataclass(frozen=True)
class Panel:
    """A title, what the panel shows in a few words, and what draws it. While a lesson hides the
    gradients it is there only if it shows none (`without_gradients`); `is_there` says for which
    programs."""

    title: str
    help: str
    draw: Callable[[Shown], None]
    without_gradients: bool = False
    is_there: Callable[[Trace], bool] = lambda trace: True


#: In the order of the switch. The titles are the values of `?panel=`.
PANELS = {
    "tensors": Panel("Tensors", "all of them in a table", _draw_tensors, without_gradients=True),
    "step": Panel("Step", "what a node of the backward pass takes in and passes on", _draw_step),
    "tensor": Panel("Tensor", "one in detail", _draw_tensor, without_gradients=True),
    "events": Panel("Events", "hooks, zero_grad, step", _draw_events),
    "check": Panel("Gradient check", "compare with measured slopes", _draw_check),
    "memory": Panel("Memory", "hooks and retain_grad compared", _draw_memory),
    "curves": Panel(
        "Curves", "loss and norms, pass by pass", _draw_curves, is_there=iterations.is_long
    ),
}


def draw_selection(run: ProgramRun, graph: GraphPanel | None, place: Any) -> None:
    """Draw what follows the reader's selection: the graph, the marked lines of the editor, and in
    `place` the panels. A fragment, so that a press in them draws nothing else again."""
    draw = st.fragment(_draw_selection, run_every=walk.interval())
    draw(run, graph, place)


def _draw_selection(run: ProgramRun, graph: GraphPanel | None, place: Any) -> None:
    shown, nodes = (graph.shown, graph.drawn.nodes) if graph else (None, ())
    picker = Picker("expression", run.trace, shown, nodes)
    walk.play_on(picker)
    picked = picker.current()
    if shown:
        see(walk=(0 if picked.step is None else picked.step + 1, len(shown.steps)))
    if graph:
        graph.draw_graph(picker, picked)
    draw_lines(
        picker.line,
        source=run.trace.source,
        error=failed_line(run),
        selected=None if run.running else picked.line,
        colours=leaf_colours(run.trace),
        ends={} if run.running or run.failure else line_ends(run.trace, _values_at_ends()),
    )
    if run.trace.tensors:
        with place:
            PANELS[_choose_panel(run)].draw(Shown(run, shown, picker, picked))


def _choose_panel(run: ProgramRun) -> str:
    """The key of the panel to show."""
    accept_renamed("panel", _RENAMED)
    offered = [
        key
        for key, panel in PANELS.items()
        if panel.is_there(run.trace) and (panel.without_gradients or not run.hidden)
    ]
    if st.session_state.get("panel") not in offered:
        st.session_state.pop("panel", None)
    return choice(
        "Show",
        "panel",
        {key: PANELS[key].title for key in offered},
        " ".join(f"{panel.title}: {panel.help}." for panel in PANELS.values()),
    )


def follow(run: ProgramRun, graph: GraphPanel | None) -> None:
    """Let the page's numbers follow what is dragged; none of a run whose gradients are hidden."""

    def numbers(trace: Trace) -> Numbers:
        if run.hidden or run.failure:
            return {}
        number = graph.shown.number if graph else None
        return page_numbers(number, _values_at_ends(), trace, run.asked)

    settings = {"capture": run.trace.capture, "upstream": run.upstream}
    follow_drag(run.trace, numbers=numbers, settings=settings)


def _values_at_ends() -> bool:
    """Whether the reader wants values at the ends of lines."""
    return bool(st.session_state.get(LINE_VALUES))
