"""Two images: the image on the page and another, side by side in every layer of the network."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from explorer.ui.common.widgets import columns, download
from explorer.ui.feature_maps import comparison, results
from explorer.ui.feature_maps.image_choice import choose_second_image
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Selection
from explorer.vision.drawing import side_by_side, to_png

_IMAGE = 190


def draw_two_images(model_input: ModelInput, selected: Selection) -> None:
    """Draw the choice of the second image, both images, and how each layer tells them apart."""
    left, right = columns(0.42, 0.58)
    with left:
        second = results.with_image(model_input, choose_second_image())
        images = [("Image (a)", model_input.prepared.rgb), ("Second (b)", second.prepared.rgb)]
        comparison.draw_pair(images, width=_IMAGE, key="two", arrows=False)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            comparison.draw_predictions(model_input, second)
            rgbs = [rgb for _, rgb in images]
            download(partial(_png, rgbs), "images.png", "Both images as PNG", key="two")
    with right:
        differences = results.differences(model_input, second)
        comparison.draw_layer_chart(differences, selected, key="two-layers", nested=False)
    comparison.draw_channels_of_both(model_input, second, selected, key="two")


def _png(rgbs: list[np.ndarray]) -> bytes:
    return to_png(side_by_side(rgbs))
