"""The Statistics tab: a table with the statistics of every channel."""

from __future__ import annotations

import streamlit as st

from explorer.ui.common.widgets import note
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Selection, channel_names
from explorer.view.glossary import term_link


def draw_statistics(model_input: ModelInput, selected: Selection) -> None:
    """Draw one row for each channel; a click on a heading sorts."""
    statistics = selected.maps.statistics
    count = len(statistics.min)
    table: dict[str, object] = {"channel": list(range(count))}
    if names := channel_names(model_input, selected):
        table["filter"] = names
    table |= {
        "min": statistics.min,
        "max": statistics.max,
        "mean": statistics.mean,
        "std": statistics.std,
        "above 0": statistics.positive,
        "exactly 0": statistics.zeros,
        "dead": statistics.dead,
    }
    percent = st.column_config.NumberColumn(format="percent")
    st.dataframe(
        table,
        hide_index=True,
        height=380,
        column_config={"above 0": percent, "exactly 0": percent},
        alt=f"Statistics of every channel of {selected.layer.name}",
    )
    dead = int(statistics.dead.sum())
    note(
        term_link("dead", "Dead"),
        f" means that no value is above 0 for this image: {dead} of {count} channels.",
    )
