"""The Network page: a network, and how much gradient reaches each of its layers."""

import streamlit as st

import explorer.ui.common.early  # noqa: F401  (first)
from explorer.ui.common.frame import draw_frame
from explorer.ui.common.open_network import OWN
from explorer.ui.common.widgets import draw_tabs, reported
from explorer.ui.network import choose, graph, own_program, parts
from explorer.ui.network.runs import await_run, draw_error

draw_frame("network")
head = st.container(horizontal=True, vertical_alignment="center", gap="small")
with head:
    name = choose.choose_network()
progress = st.container()
left, right = choose.graph_and_numbers(name)
own = None
if name == OWN:
    with right:
        own = own_program.write_network()
    if own is None:
        st.stop()
facts = own.facts if own else choose.preset_facts(name)
with head:
    setting = choose.choose_setting(name, facts, own.source if own else "")
    choose.step_button(setting, facts)
    menu = st.container(width="content")
    top = st.container()
with progress:
    setting = choose.with_available_weights(setting)
    report = None
    if setting.large:
        report = await_run("outline", "inspect_on_meta", setting, patience=10)
with right:
    inspected = own_program.unchanged(own, setting) or await_run(
        "numbers", "inspect_network", setting, patience=0.0 if setting.large else 10.0
    )
report = inspected.report if inspected else report
if report is None:
    st.stop()

choice = None
with left, reported(setting.source):
    draw_error(report.error)
    choice = graph.choose_graph(report)
tabs = draw_tabs(parts.tab_titles(setting, facts, report), "part")
drawn = parts.draw_parts(setting, facts, report, inspected, choice, top, left, right, tabs)
with menu, reported(setting.source):
    choose.download_menu(setting, facts, report, drawn)
