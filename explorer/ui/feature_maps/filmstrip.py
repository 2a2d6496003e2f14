"""The filmstrip: the first channels of every convolution along the network."""

from __future__ import annotations

from functools import partial
from typing import cast

import streamlit as st

from explorer.ui.common.glossary import term_link
from explorer.ui.common.widgets import choice, download, label
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.image_grid import Frame, frames
from explorer.ui.feature_maps.results import ModelInput, Of, Still
from explorer.ui.feature_maps.selection import Spot

_HELP = "What each layer makes, or what it is given, before anything changes it in place"
_CAPTIONS = {"output": "what it makes", "input": "what it is given"}
#: CSS pixels: a still's width in a short network and in a long one, and the strip's height.
_LARGE, _SMALL, _HEIGHT = 112, 94, 268
_LONG = 7
_LETTERS = 30  # of a caption: two lines


def head(model_input: ModelInput) -> Of:
    """The line above the filmstrip: what it shows, and its download."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label("Every ", term_link("convolution", "convolution"), " along the network")
        of = cast(Of, choice("Show", "of", ["output", "input"], _HELP))
        st.html(
            f'<div class="ax-note">{_CAPTIONS[of].capitalize()}: the first {results.FIRST} '
            "channels, each layer with its own colour scale. Choose a layer.</div>",
            width="stretch",
        )
        download(
            partial(results.strip_png, model_input, of),
            "filmstrip.png",
            "The filmstrip as PNG",
            key="strip",
        )
    return of


def strip(model_input: ModelInput, of: Of, here: Spot) -> None:
    """Draw the filmstrip; choosing a still chooses its layer."""
    stills = results.stills(model_input, of)
    chosen = here.layer.name, here.maps.call
    width = _SMALL if len(stills) > _LONG else _LARGE
    frames(
        [_frame(still, of, width, (still.layer, still.call) == chosen) for still in stills],
        key="strip",
        on_choose=_choose,
        height=_HEIGHT,
    )


def _frame(still: Still, of: Of, width: int, selected: bool) -> Frame:
    name = still.layer if still.calls == 1 else f"{still.layer}, call {still.call}"
    size = " × ".join(map(str, still.size))
    return Frame(
        id=f"{still.call} {still.layer}",
        png=still.png,
        alt=f"First channels of the {of} of {name}",
        width=width,
        label=_ending(name),
        title=f"{name}: {size}",
        selected=selected,
        smooth=still.width > width,
    )


def _choose(name: str, x: float, y: float) -> None:
    call, _, layer = name.partition(" ")
    st.session_state.layer = layer
    st.session_state.call = int(call)


def _ending(name: str) -> str:
    """The end of a long name tells layers apart."""
    return name if len(name) <= _LETTERS else f"…{name[1 - _LETTERS :]}"
