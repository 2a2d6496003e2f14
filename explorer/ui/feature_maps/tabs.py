"""The tabs of the Feature maps page: a title, and the function that draws the tab."""

from __future__ import annotations

from collections.abc import Callable

from explorer.ui.feature_maps.channels import draw_channels
from explorer.ui.feature_maps.decision import draw_decision
from explorer.ui.feature_maps.kernels import draw_kernels
from explorer.ui.feature_maps.more import draw_more
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Selection
from explorer.ui.feature_maps.statistics import draw_statistics

#: In the order on the page. The titles are part of links.
TABS: dict[str, Callable[[ModelInput, Selection], None]] = {
    "Channels": draw_channels,
    "Kernels": draw_kernels,
    "Statistics": draw_statistics,
    "Prediction": draw_decision,
    "More": draw_more,
}


def tab_titles(model_input: ModelInput) -> list[str]:
    """The tabs for this network: without Prediction if it has no classes."""
    return [title for title in TABS if model_input.labels or title != "Prediction"]
