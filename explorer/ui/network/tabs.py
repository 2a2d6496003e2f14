"""The tabs of the Network page, and what follows the selected layer with them: the graph and the
norms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from explorer.networks.attention import may_have_attention
from explorer.networks.normalisation import is_norm
from explorer.networks.time_steps import RECURRENT
from explorer.ui.network import norms
from explorer.ui.network.accumulation import draw_accumulation
from explorer.ui.network.attention import draw_attention
from explorer.ui.network.choose import draw_source
from explorer.ui.network.families import draw_comparison, relatives
from explorer.ui.network.graph import DrawnGraph, GraphChoice, draw_graph
from explorer.ui.network.histograms import draw_histogram_tab
from explorer.ui.network.hook_laboratory import draw_laboratory
from explorer.ui.network.memory import draw_memory_tab
from explorer.ui.network.normalisation import draw_normalisation
from explorer.ui.network.selection import Shown
from explorer.ui.network.time_steps import draw_time_steps
from explorer.ui.network.tree import draw_layers
from explorer.ui.widgets.basics import reported
from explorer.ui.widgets.lesson_strip import see


def _types(shown: Shown) -> set[str]:
    return {row.type for row in shown.report.layers}


@dataclass(frozen=True)
class Tab:
    """What draws a tab, and whether it has something to say of a network."""

    draw: Callable[[Shown], None]
    applies: Callable[[Shown], bool] = lambda shown: True


#: In the order on the page. The titles are part of links.
TABS: dict[str, Tab] = {
    "Layers": Tab(draw_layers),
    "Attention": Tab(draw_attention, lambda shown: may_have_attention(shown.report)),
    "Time steps": Tab(draw_time_steps, lambda shown: bool(_types(shown) & set(RECURRENT))),
    "Compare": Tab(draw_comparison, lambda shown: bool(relatives(shown.settings))),
    "Normalisation": Tab(draw_normalisation, lambda shown: any(map(is_norm, _types(shown)))),
    "Histogram": Tab(draw_histogram_tab),
    "Accumulation": Tab(draw_accumulation, lambda shown: bool(shown.facts.samples)),
    "Hook laboratory": Tab(draw_laboratory),
    "Memory": Tab(draw_memory_tab),
    "Source": Tab(draw_source),
}


def tab_titles(shown: Shown) -> list[str]:
    """The tabs that have something to say of this network."""
    return [title for title, tab in TABS.items() if tab.applies(shown)]


@st.fragment
def draw_parts(
    shown: Shown,
    choice: GraphChoice | None,
    top: Any,
    left: Any,
    right: Any,
    tabs: Mapping[str, Any],
) -> DrawnGraph | None:
    """Draw the smallest and largest gradient on top, the graph on the left, the norms on the right,
    and the open tab; returns the graph. A fragment, so that selecting a layer draws nothing else
    again."""
    drawn = None
    see(layer=shown.layer or "")
    own = shown.settings.source
    with top, reported(own):
        norms.draw_extremes(shown)
    if choice:
        with left, reported(own):
            drawn = draw_graph(shown, choice)
    with right, reported(own):
        norms.draw_health(shown)
        norms.draw_norms(shown)
        norms.draw_notes(shown)
    for title, tab in tabs.items():
        if tab.open:
            with tab, reported(own):
                TABS[title].draw(shown)
    return drawn
