"""The Network page: a network, and how much gradient reaches each of its layers."""

from functools import partial

import streamlit as st

from explorer.ui.common.frame import draw_frame
from explorer.ui.common.layout import columns
from explorer.ui.network import choose, graph, parts, runs
from explorer.ui.network.job_queue import await_result, draw_error

draw_frame("network")
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

with left:
    draw_error(report.error)
    choice = graph.choose_graph(report)
titles = parts.tab_titles(facts)
tabs = dict(zip(titles, st.tabs(titles, key="part", bind="query-params"), strict=True))
drawn = parts.draw_parts(setting, report, inspected, choice, facts.note, left, right, tabs)
with menu:
    choose.download_menu(setting, report, drawn)
