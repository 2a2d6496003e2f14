"""What follows the selected layer: the graph, the norms, and the tab that is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from explorer.networks import Report
from explorer.networks.attention import may_have_attention
from explorer.networks.normalisation import is_norm
from explorer.networks.runs import InspectedNetwork
from explorer.networks.setting import PresetFacts, Setting
from explorer.networks.time_steps import RECURRENT
from explorer.ui.common.widgets import reported
from explorer.ui.network import (
    accumulation,
    attention,
    choose,
    families,
    health,
    hook_comparisons,
    hook_laboratory,
    memory,
    normalisation,
    norms,
    reconstruction,
    time_steps,
    training,
    tree,
)
from explorer.ui.network.graph import DrawnGraph, GraphChoice, draw_graph
from explorer.ui.network.selection import select_layer, select_parameter, selected_layer

#: In the order on the page. The titles are part of links.
TABS = (
    *("Layers", "Attention", "Time steps", "Compare", "Normalisation", "Reconstruction"),
    *("Histogram", "Accumulation", "Hook laboratory", "Full or deprecated hook"),
    *("Memory", "Source"),
)


def tab_titles(setting: Setting, facts: PresetFacts, report: Report) -> list[str]:
    """The tabs that have something to show for this network."""
    types = {row.type for row in report.layers}
    shown = {
        "Attention": may_have_attention(report),
        "Time steps": bool(types & set(RECURRENT)),
        "Compare": bool(families.relatives(setting)),
        "Normalisation": any(map(is_norm, types)),
        "Reconstruction": setting.name == "autoencoder" and not setting.source,
        "Accumulation": bool(facts.samples),
    }
    return [title for title in TABS if shown.get(title, True)]


@st.fragment
def draw_parts(
    setting: Setting,
    facts: PresetFacts,
    report: Report,
    inspected: InspectedNetwork | None,
    choice: GraphChoice | None,
    top: Any,
    left: Any,
    right: Any,
    tabs: Mapping[str, Any],
) -> DrawnGraph | None:
    """Draw the smallest and largest gradient on top, the graph on the left, the norms on the right,
    and the open tab; returns the graph. A fragment, so that selecting a layer draws nothing else
    again."""
    layer = selected_layer(report)
    select = partial(select_layer, report=report)
    select_one = partial(select_parameter, report=report)
    drawn = None
    own = setting.source
    with top, reported(own):
        norms.draw_extremes(report, select_one)
    if choice:
        with left, reported(own):
            drawn = draw_graph(setting, choice, layer, select)
    with right, reported(own):
        health.draw_health(report, select)
        if inspected:
            norms.draw_norms(report, layer, select_one)
        norms.draw_notes(report, "" if setting.source else facts.note)
    views: dict[str, Callable[[], None]] = {
        "Layers": partial(tree.draw_layers, report, layer, select, select_one),
        "Attention": partial(attention.draw_attention, setting),
        "Time steps": partial(time_steps.draw_time_steps, setting),
        "Compare": partial(families.draw_comparison, setting),
        "Normalisation": partial(normalisation.draw_normalisation, setting, facts),
        "Reconstruction": partial(reconstruction.draw_reconstruction, setting),
        "Histogram": partial(training.draw_histogram_tab, setting, inspected),
        "Accumulation": partial(accumulation.draw_accumulation, setting, facts.samples),
        "Hook laboratory": partial(hook_laboratory.draw_laboratory, setting, report),
        "Full or deprecated hook": hook_comparisons.draw_backward_hook_comparison,
        "Memory": partial(memory.draw_memory_tab, setting, report, layer, select),
        "Source": partial(choose.draw_source, facts),
    }
    for title, tab in tabs.items():
        if tab.open:
            with tab, reported(own):
                views[title]()
    return drawn
