"""The Kernels tab: the kernels of a convolution as one image."""

from __future__ import annotations

import streamlit as st

from explorer.ui.common.widgets import choice, download, note, page, whole
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.channels import describe_colours
from explorer.ui.feature_maps.image_grid import GridImage, draw_image_grid
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Selection
from explorer.view.glossary import term_link
from explorer.vision import tile

_ONE, _EVERY = "of this channel", "of all channels"
#: Kernels on a page and in a row, and the width of a full row in CSS pixels.
_PAGE, _COLUMNS, _WIDTH = 128, 16, 940


def draw_kernels(model_input: ModelInput, selected: Selection) -> None:
    """Draw the kernels of the selected channel, one for each input channel; or those of every
    channel for one input channel."""
    if selected.layer.type != "Conv2d":
        note(f"{selected.layer.name} is a {selected.layer.type}. Only convolutions have kernels.")
        return
    weights = results.weights(model_input, selected.layer.name)
    out, inputs, height, width = weights.shape
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        scope = choice(
            "Kernels",
            "kernels",
            [_ONE, _EVERY],
            "The kernels of the selected channel, or those of every channel for one input channel",
        )
        if scope == _EVERY and inputs > 1:
            of = _input_channel(inputs)
            shown, which = weights[:, of], f"for input channel {of}"
        elif scope == _EVERY:
            shown, which = weights[:, 0], "for its input channel"
        else:
            channel = min(selected.channel, out - 1) if selected.of == "output" else 0
            shown, which = weights[channel], f"of channel {channel}, one for each input channel"
        tiling = tile(
            shown,
            page=page("kernel-page", len(shown), _PAGE),
            page_size=_PAGE,
            columns=_COLUMNS,
            width=_width(len(shown)),
        )
        download(tiling.png, "kernels.png", "These kernels as PNG", key="kernels")
    alt = f"Kernels of {selected.layer.name}, {height} × {width}, {which}"
    draw_image_grid(
        [GridImage("kernels", tiling.png(), alt, tiling.levels.shape[1])], key="kernels-picture"
    )
    colours = describe_colours(tiling)
    note(term_link("kernel", "Kernels"), f" {which}: {height} × {width}. {colours}.")


def _input_channel(count: int) -> int:
    chosen = whole(
        "Input channel",
        "kernel-input",
        0,
        count - 1,
        start=0,
        hidden=True,
        help="The input channel that the kernels are applied to",
    )
    return chosen or 0


def _width(count: int) -> int:
    """The width in CSS pixels: less for a few kernels, which would be drawn too large."""
    return min(_WIDTH, 96 * min(count, _COLUMNS))
