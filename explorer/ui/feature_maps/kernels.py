"""The kernels of a convolution as pictures, and the statistics of every channel as a table."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.trace.text import number
from explorer.ui.common.glossary import term_link
from explorer.ui.common.widgets import choice, download, note, page, whole
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.image_grid import Frame, frames
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Spot, channel_names
from explorer.vision import tile

_ONE, _EVERY = "of this channel", "of every channel"
#: Kernels on a page and in a row; CSS pixels of a full row.
_PAGE, _COLUMNS, _WIDTH = 128, 16, 940
_INPUT: dict[str, Any] = {"start": 0, "hidden": True, "help": "For which channel of the input"}


def kernels(model_input: ModelInput, spot: Spot) -> None:
    """Those of the chosen channel, one for each input; or every channel's for one input."""
    if spot.layer.type != "Conv2d":
        note(f"{spot.layer.name} is a {spot.layer.type}; convolutions have kernels.")
        return
    weights = results.weights(model_input, spot.layer.name)
    out, inputs, height, width = weights.shape
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        which = choice(
            "Kernels",
            "kernels",
            [_ONE, _EVERY],
            "Those that make the chosen channel, or those of all channels for one input",
        )
        if which == _EVERY and inputs > 1:
            of = whole("Input channel", "kernel-input", 0, inputs - 1, **_INPUT) or 0
            shown, over = weights[:, of], f"for input channel {of}"
        elif which == _EVERY:
            shown, over = weights[:, 0], "for its input channel"
        else:
            channel = min(spot.channel, out - 1) if spot.of == "output" else 0
            shown, over = weights[channel], f"that make channel {channel}, one for each input"
        drawn = tile(
            shown,
            page=page("kernel-page", len(shown), _PAGE),
            page_size=_PAGE,
            columns=_COLUMNS,
            width=_width(len(shown)),
        )
        download(drawn.png, "kernels.png", "These kernels as PNG", key="kernels")
    alt = f"Kernels of {spot.layer.name}, {height} × {width}, {over}"
    frames([Frame("kernels", drawn.png(), alt, drawn.levels.shape[1])], key="kernels-picture")
    low, high = drawn.ranges[0]
    below = f"{number(low)} (blue) over 0 (white)" if drawn.signed else "0 (white)"
    said = f" {over}: {height} × {width}, from {below} to {number(high)} (red)."
    note("The ", term_link("kernel", "kernels"), said)


def _width(count: int) -> int:
    """So wide that few kernels are not drawn monstrously large."""
    return min(_WIDTH, 96 * min(count, _COLUMNS))


def statistics(model_input: ModelInput, spot: Spot) -> None:
    """One row for each channel; a click on a heading sorts."""
    found = spot.maps.statistics
    count = len(found.min)
    table: dict[str, object] = {"channel": list(range(count))}
    if names := channel_names(model_input, spot):
        table["filter"] = names
    table |= {
        "min": found.min,
        "max": found.max,
        "mean": found.mean,
        "std": found.std,
        "above 0": found.positive,
        "exactly 0": found.zeros,
        "dead": found.dead,
    }
    share = st.column_config.NumberColumn(format="percent")
    st.dataframe(
        table,
        hide_index=True,
        height=380,
        column_config={"above 0": share, "exactly 0": share},
        alt=f"Statistics of every channel of {spot.layer.name}",
    )
    dead = int(found.dead.sum())
    said = f" means no value above 0 for this picture: {dead} of {count} channels."
    note(term_link("dead", "Dead"), said)
