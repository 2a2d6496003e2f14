"""The Network page: a network, and how much gradient reaches each of its layers."""

import streamlit as st

import explorer.ui.server.early  # noqa: F401  (first)
from explorer.ui.network import choose, graph, tabs
from explorer.ui.network.runs import await_run, draw_error
from explorer.ui.network.selection import Shown
from explorer.ui.widgets.basics import draw_tabs, reported
from explorer.ui.widgets.frame import draw_frame
from explorer.ui.widgets.open_network import OWN

draw_frame("network")
head = st.container(horizontal=True, vertical_alignment="center", gap="small")
with head:
    name = choose.choose_network()
progress = st.container()
left, right = choose.graph_and_numbers(name)
own = None
if name == OWN:
    with right:
        own = choose.write_network()
    if own is None:
        st.stop()
facts = own.facts if own else choose.preset_facts(name)
with head:
    settings = choose.choose_settings(name, facts, own.source if own else "")
    choose.step_button(settings, facts)
    menu = st.container(width="content")
    top = st.container()
with progress:
    settings = choose.with_available_weights(settings)
    report = None
    if settings.large:
        report = await_run("outline", "inspect_on_meta", settings, patience=10)
with right:
    inspected = choose.unchanged(own, settings) or await_run(
        "numbers", "inspect_network", settings, patience=0.0 if settings.large else 10.0
    )
report = inspected.report if inspected else report
if report is None:
    st.stop()

choice = None
with left, reported(settings.source):
    draw_error(report.error)
    choice = graph.choose_graph(report)
shown = Shown(settings, facts, report, inspected)
open_tabs = draw_tabs(tabs.tab_titles(shown), "part")
drawn = tabs.draw_parts(shown, choice, top, left, right, open_tabs)
with menu, reported(settings.source):
    choose.draw_downloads(shown, drawn)
