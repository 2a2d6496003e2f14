"""The filmstrip: the first channels of every convolution along the network."""

from __future__ import annotations

from typing import cast

import streamlit as st

from explorer.ui.common.widgets import choice
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.image_grid import GridImage, draw_image_grid
from explorer.ui.feature_maps.results import FilmstripFrame, ModelInput, Of
from explorer.ui.feature_maps.selection import Selection
from explorer.vision.feature_maps import describe_size, number_layers

_HELP = "Each layer's output or its input, before anything changes it in place"


def choose_side() -> Of:
    """Draw the choice between the outputs of the layers and their inputs."""
    return cast(Of, choice("Show", "of", ["output", "input"], _HELP))


def draw_filmstrip(model_input: ModelInput, of: Of, selected: Selection) -> None:
    """Draw the filmstrip; a click on a frame selects its layer."""
    frames = results.filmstrip_frames(model_input, of)
    current = selected.layer.name, selected.maps.call
    numbered = number_layers((frame.layer, "Conv2d") for frame in frames)
    draw_image_grid(
        [
            _grid_image(frame, of, numbered[frame.layer], (frame.layer, frame.call) == current)
            for frame in frames
        ],
        key="strip",
        on_choose=_select_layer,
        film=True,
    )


def _grid_image(frame: FilmstripFrame, of: Of, number: str, selected: bool) -> GridImage:
    name = frame.layer if frame.calls == 1 else f"{frame.layer}, call {frame.call}"
    return GridImage(
        id=f"{frame.call} {frame.layer}",
        png=frame.png,
        alt=f"First channels of the {of} of {name}",
        width=frame.width,
        label=f"{number.partition(' of ')[0]}\n{name}",
        title=f"{number} · {describe_size(frame.size)} · {name}\n"
        "Its first channels; each layer has its own colour scale",
        selected=selected,
        smooth=True,
    )


def _select_layer(name: str, x: float, y: float) -> None:
    call, _, layer = name.partition(" ")
    st.session_state.layer = layer
    st.session_state.call = int(call)
