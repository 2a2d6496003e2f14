"""The Network page: a network in, and what reaches each of its layers."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from explorer.ui.common.frame import draw_frame
from explorer.ui.common.layout import apply_styles, columns
from explorer.ui.network import (
    accumulation,
    backward_hook_comparison,
    choose,
    graph,
    hook_memory,
    laboratory,
    norms,
    pick,
    runs,
    table,
)
from explorer.ui.network.downloads import downloads
from explorer.ui.network.faults import fault
from explorer.ui.network.job_progress import result

draw_frame("network")
apply_styles("network")
with st.container(horizontal=True, vertical_alignment="center", gap="small"):
    setting = choose.choose()
    choose.step_button(setting)
    menu = st.container()
setting = choose.available(setting)

report = None
if setting.large:
    report = result("outline", setting.key, partial(runs.outline, setting), patience=10)
left, right = columns(0.56, 0.44)
with right:
    patience = 0.0 if setting.large else 10.0
    numbers = result("numbers", setting.key, partial(runs.numbers, setting), patience=patience)
report = numbers.report if numbers else report
if report is None:
    st.stop()

chosen = pick.chosen(report)
choose_layer = partial(pick.choose, report=report)
with left:
    fault(report.error)
    drawn = graph.section(setting, report, chosen, choose_layer)
with right:
    if numbers:
        norms.bars(report, chosen)
    norms.notes(report, choose.known(setting.name).note)
with menu:
    downloads(setting, report, drawn)

views: dict[str, Callable[[], None]] = {
    "Layers": partial(table.section, report, chosen, choose_layer),
    "Histogram": partial(norms.section, numbers),
    "Accumulation": partial(accumulation.section, setting),
    "Hook laboratory": partial(laboratory.section, setting, report),
    "Full or deprecated hook": backward_hook_comparison.section,
    "Memory of hooks": partial(hook_memory.section, setting),
    "Source": partial(choose.source, setting),
}
names = [name for name in views if name != "Accumulation" or choose.known(setting.name).samples]
for name, tab in zip(names, st.tabs(names, key="part", bind="query-params"), strict=True):
    if tab.open:
        with tab, st.container(gap="xsmall"):
            views[name]()
