"""What follows the selected layer: the graph, the norms, and the tab that is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from explorer.networks import Report
from explorer.ui.network import (
    accumulation,
    choose,
    hook_comparisons,
    hook_laboratory,
    norms,
    table,
)
from explorer.ui.network.graph import DrawnGraph, GraphChoice, draw_graph
from explorer.ui.network.runs import InspectedNetwork
from explorer.ui.network.selection import select_layer, selected_layer
from explorer.ui.network.settings import PresetFacts, Setting

#: In the order on the page. The titles are part of links.
TABS = (
    *("Layers", "Histogram", "Accumulation", "Hook laboratory", "Full or deprecated hook"),
    *("Memory of hooks", "Source"),
)


def tab_titles(facts: PresetFacts) -> list[str]:
    """The tabs for this preset: without Accumulation if it has no samples to accumulate."""
    return [title for title in TABS if title != "Accumulation" or facts.samples]


@st.fragment
def draw_parts(
    setting: Setting,
    report: Report,
    inspected: InspectedNetwork | None,
    choice: GraphChoice | None,
    about: str,
    left: Any,
    right: Any,
    tabs: Mapping[str, Any],
) -> DrawnGraph | None:
    """Draw the graph on the left, the norms on the right, and the open tab; returns the graph. A
    fragment, so that selecting a layer draws nothing else again."""
    layer = selected_layer(report)
    select = partial(select_layer, report=report)
    drawn = None
    if choice:
        with left:
            drawn = draw_graph(setting, choice, layer, select)
    with right:
        if inspected:
            norms.draw_norms(report, layer)
        norms.draw_notes(report, about)
    views: dict[str, Callable[[], None]] = {
        "Layers": partial(table.draw_table, report, layer, select),
        "Histogram": partial(norms.draw_histogram_tab, inspected),
        "Accumulation": partial(accumulation.draw_accumulation, setting),
        "Hook laboratory": partial(hook_laboratory.draw_laboratory, setting, report),
        "Full or deprecated hook": hook_comparisons.draw_backward_hook_comparison,
        "Memory of hooks": partial(hook_comparisons.draw_hook_memory, setting),
        "Source": partial(choose.draw_source, setting),
    }
    for title, tab in tabs.items():
        if tab.open:
            with tab:
                views[title]()
    return drawn
