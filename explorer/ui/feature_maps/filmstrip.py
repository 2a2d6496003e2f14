"""The filmstrip: the first channels of every convolution along the network."""

from __future__ import annotations

from functools import partial
from typing import cast

import streamlit as st

from explorer.ui.common.glossary import term_link
from explorer.ui.common.widgets import choice, download, label
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.image_grid import GridImage, draw_image_grid
from explorer.ui.feature_maps.results import FilmstripFrame, ModelInput, Of
from explorer.ui.feature_maps.selection import Selection

_HELP = "Each layer's output or its input, before anything changes it in place"
_CAPTIONS = {"output": "Outputs", "input": "Inputs"}
#: CSS pixels: a frame's width in a short network and in a long one, and the strip's height.
_LARGE, _SMALL, _HEIGHT = 112, 94, 268
_LONG = 7
_LETTERS = 30  # of a caption: two lines


def draw_header(model_input: ModelInput) -> Of:
    """Draw the line above the filmstrip: what it shows, and its download."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label("Every ", term_link("convolution", "convolution"), " of the network")
        of = cast(Of, choice("Show", "of", ["output", "input"], _HELP))
        st.html(
            f'<div class="ax-note">{_CAPTIONS[of]}: the first {results.FIRST} channels, '
            "each layer with its own colour scale. Click a layer to select it.</div>",
            width="stretch",
        )
        download(
            partial(results.filmstrip_png, model_input, of),
            "filmstrip.png",
            "The filmstrip as PNG",
            key="strip",
        )
    return of


def draw_filmstrip(model_input: ModelInput, of: Of, selected: Selection) -> None:
    """Draw the filmstrip; a click on a frame selects its layer."""
    frames = results.filmstrip_frames(model_input, of)
    current = selected.layer.name, selected.maps.call
    width = _SMALL if len(frames) > _LONG else _LARGE
    draw_image_grid(
        [_grid_image(frame, of, width, (frame.layer, frame.call) == current) for frame in frames],
        key="strip",
        on_choose=_select_layer,
        height=_HEIGHT,
    )


def _grid_image(frame: FilmstripFrame, of: Of, width: int, selected: bool) -> GridImage:
    name = frame.layer if frame.calls == 1 else f"{frame.layer}, call {frame.call}"
    size = " × ".join(map(str, frame.size))
    return GridImage(
        id=f"{frame.call} {frame.layer}",
        png=frame.png,
        alt=f"First channels of the {of} of {name}",
        width=width,
        label=_ending(name),
        title=f"{name}: {size}",
        selected=selected,
        smooth=frame.width > width,
    )


def _select_layer(name: str, x: float, y: float) -> None:
    call, _, layer = name.partition(" ")
    st.session_state.layer = layer
    st.session_state.call = int(call)


def _ending(name: str) -> str:
    """The end of a long name, which is where the names of layers differ."""
    return name if len(name) <= _LETTERS else f"…{name[1 - _LETTERS :]}"
