"""The Network page: a network, and how much gradient reaches each of its layers."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from explorer.ui.common.frame import draw_frame
from explorer.ui.common.layout import apply_styles, columns
from explorer.ui.network import (
    accumulation,
    choose,
    graph,
    hook_comparisons,
    hook_laboratory,
    norms,
    runs,
    table,
)
from explorer.ui.network.job_queue import await_result, draw_error
from explorer.ui.network.selection import select_layer, selected_layer

draw_frame("network")
apply_styles("network")
with st.container(horizontal=True, vertical_alignment="center", gap="small"):
    setting = choose.choose_setting()
    choose.step_button(setting)
    menu = st.container()
setting = choose.with_available_weights(setting)
facts = choose.preset_facts(setting.name)

report = None
if setting.large:
    report = await_result(
        "outline", setting.key, partial(runs.inspect_on_meta, setting), patience=10
    )
left, right = columns(0.56, 0.44)
with right:
    inspected = await_result(
        "numbers",
        setting.key,
        partial(runs.inspect_network, setting),
        patience=0.0 if setting.large else 10.0,
    )
report = inspected.report if inspected else report
if report is None:
    st.stop()

layer = selected_layer(report)
select = partial(select_layer, report=report)
with left:
    draw_error(report.error)
    drawn = graph.draw_graph(setting, report, layer, select)
with right:
    if inspected:
        norms.draw_norms(report, layer)
    norms.draw_notes(report, facts.note)
with menu:
    choose.download_menu(setting, report, drawn)

views: dict[str, Callable[[], None]] = {
    "Layers": partial(table.draw_table, report, layer, select),
    "Histogram": partial(norms.draw_histogram_tab, inspected),
    "Accumulation": partial(accumulation.draw_accumulation, setting),
    "Hook laboratory": partial(hook_laboratory.draw_laboratory, setting, report),
    "Full or deprecated hook": hook_comparisons.draw_backward_hook_comparison,
    "Memory of hooks": partial(hook_comparisons.draw_hook_memory, setting),
    "Source": partial(choose.draw_source, setting),
}
names = [name for name in views if name != "Accumulation" or facts.samples]
for name, tab in zip(names, st.tabs(names, key="part", bind="query-params"), strict=True):
    if tab.open:
        with tab, st.container(gap="xsmall"):
            views[name]()
