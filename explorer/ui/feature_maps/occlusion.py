"""Occlusion: by how much the score of a class falls when a part of the image is covered."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from explorer.trace.text import number
from explorer.ui.common.widgets import columns, download, label, note
from explorer.ui.feature_maps import comparison
from explorer.ui.feature_maps.integrated_gradients import choose_baseline
from explorer.ui.feature_maps.long_run import await_run
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Selection
from explorer.ui.feature_maps.target_class import choose_class
from explorer.view.glossary import term_link
from explorer.vision import Occlusion
from explorer.vision.drawing import to_png
from explorer.vision.occlusion import positions
from explorer.vision.tiles import to_colours

_IMAGE = 288
#: Shares of the image's shorter side that the window may have.
_SIZES = ("1/16", "1/8", "1/4", "1/2")
#: In larger images a small window means many runs of a network that is slow already.
_SMALL = 96


def draw_occlusion(model_input: ModelInput, selected: Selection) -> None:
    """Draw the occlusion map of a class beside the image."""
    height, width = model_input.prepared.rgb.shape[:2]
    side = min(height, width)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        target, name = choose_class(model_input, "The class whose score is explained")
        baseline = choose_baseline()
        size = st.selectbox(
            "Window",
            _SIZES,
            _SIZES.index("1/8" if side <= _SMALL else "1/4"),
            key="window",
            bind="query-params",
            width=130,
            help="The side of the square that covers the image, as a share of the image's",
        )
    window = max(1, side // int((size if size in _SIZES else "1/4").partition("/")[2]))
    result: Occlusion | None = await_run(
        "occlusion",
        model_input,
        "occlusion",
        normalisation=model_input.loaded.backbone.normalisation,
        target=target,
        window=window,
        baseline=baseline,
    )
    if result is None:
        return
    left, right = columns(0.55, 0.45)
    reach = float(abs(result.map).max())
    rgb = to_colours(result.map, reach or 1.0, signed=True)
    with left:
        comparison.draw_pair(
            [("Image", model_input.prepared.rgb), (f"How much {name} needs each pixel", rgb)],
            width=_IMAGE,
            key="occlusion",
        )
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            note(
                f"Red: covering it lowers the score of {name}; blue: it raises the score "
                f"(±{number(reach)})."
            )
            download(partial(to_png, rgb), "occlusion.png", "The map as PNG", key="occlusion")
    with right:
        _draw_facts(result, name, positions((height, width), window, result.stride))


def _draw_facts(result: Occlusion, name: str, runs: int) -> None:
    label(term_link("occlusion"))
    row, column = np.unravel_index(result.map.argmax(), result.map.shape)
    st.html(
        '<div class="ax-map-facts">'
        f"<span>score of {name}</span><b>{number(result.score)}</b>"
        f"<span>largest mean drop</span><b>{number(float(result.map.max()))} at row {row}, "
        f"column {column}</b>"
        f"<span>window, stride</span><b>{result.window} × {result.window}, {result.stride}</b>"
        f"<span>positions of the window</span><b>{runs}</b></div>"
    )
    cover = "black" if result.baseline == "black" else "the blurred image"
    note(
        f"A square of {cover} is slid over the image, and the network runs at each position. A "
        "pixel's value is the mean drop of the score over all squares that cover it."
    )
