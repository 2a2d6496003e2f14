"""What the reader has selected: a layer, one of its channels, and a position in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import streamlit as st

from explorer.networks.image_networks import FILTERS
from explorer.ui.common.widgets import download, whole
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.results import ModelInput, Of
from explorer.vision import FeatureMaps, MapLayer
from explorer.vision.receptive_field import Axis, Field


@dataclass(frozen=True, eq=False)
class Selection:
    """A position (row, column) in one channel of one call of a layer."""

    layer: MapLayer
    of: Of
    maps: FeatureMaps
    channel: int
    row: int
    column: int

    @cached_property
    def values(self) -> np.ndarray:
        """The layer's maps: channels × height × width."""
        return self.maps.activations[0]

    @property
    def map(self) -> np.ndarray:
        return self.values[self.channel]

    @property
    def value(self) -> float:
        return float(self.map[self.row, self.column])


def choose_position(model_input: ModelInput, of: Of) -> Selection:
    """Draw the list of layers and the number fields, and the layer's download."""
    layers = {layer.name: layer for layer in results.layers(model_input, of)}
    names = list(layers)
    several = (layer.name for layer in layers.values() if layer.sizes(of)[0][0] > 1)
    first = names.index(next(several, names[0]))
    if st.session_state.get("layer", names[first]) not in layers:
        st.session_state.layer = names[first]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        name = st.selectbox(
            "Layer",
            names,
            first,
            key="layer",
            bind="query-params",
            width=270,
            help="The layer whose maps are shown below. You can also click it in the filmstrip",
        )
        layer = layers.get(name, layers[names[first]])
        sizes = layer.sizes(of)
        call = (
            _number("Call", "call", len(sizes), "Which call of a layer that runs several times")
            if len(sizes) > 1
            else 0
        )
        channels, height, width = sizes[call]
        channel = _number(
            "Channel", "channel", channels, "The index of the layer's channel, from 0"
        )
        maps = results.maps(model_input, layer.name, of, call)
        field = results.field(model_input, layer.name, of, call)
        highest = _highest(maps.activations[0][channel], field, model_input.prepared.rgb.shape)
        row = _number("Row", "row", height, _OPEN, highest[0])
        column = _number("Column", "column", width, _OPEN, highest[1])
        size = f"{layer.type} · {channels} × {height} × {width}"
        st.html(f'<div class="ax-note ax-map-size">{size}</div>', width="stretch")
        download(
            partial(results.layer_npz, model_input, layer.name, of, call),
            f"{layer.name}.npz",
            "All values of this layer and their statistics, for NumPy",
            key="layer",
            label="NPZ",
            mime="application/octet-stream",
        )
    return Selection(layer, of, maps, channel, row, column)


def channel_names(model_input: ModelInput, selected: Selection) -> tuple[str, ...]:
    """The names of the filters in the filter bank; elsewhere channels have none."""
    if model_input.loaded.backbone.name == "filter_bank" and len(selected.values) == len(FILTERS):
        return tuple(FILTERS)
    return ()


def pick_channel(channel: int) -> None:
    """In a callback: select another channel, at its highest value."""
    st.session_state.channel = channel
    pick_position(None, None)


def pick_position(row: int | None, column: int | None) -> None:
    """In a callback: select another position; None for the highest value."""
    st.session_state.row, st.session_state.column = row, column


def _highest(values: np.ndarray, field: Field, size: tuple[int, ...]) -> tuple[int, int]:
    """Row and column of the highest value, if possible of one whose field has no padding."""
    if field is not None:
        axes = zip((field.rows, field.columns), values.shape, size, strict=False)
        inside = np.ix_(*(_inside(axis, count, length) for axis, count, length in axes))
        clear = np.full(values.shape, -np.inf)
        clear[inside] = values[inside]
        values = clear if clear.max(initial=-np.inf) > -np.inf else values
    row, column = np.unravel_index(values.argmax(), values.shape)
    return int(row), int(column)


def _inside(axis: Axis, count: int, length: int) -> list[int]:
    """The positions, of `count`, whose receptive field lies within the image."""
    return [
        i
        for i in range(count)
        if axis.stride * i + axis.first >= 0 and axis.stride * i + axis.last < length
    ]


_OPEN = "The position in the map. Leave empty for the highest value not affected by padding"


def _number(label: str, key: str, count: int, help: str, highest: int | None = None) -> int:
    """A number below `count`. A position may be left empty: then it is `highest`."""
    open_ = highest is not None
    chosen = whole(
        label,
        key,
        0,
        count - 1,
        start=None if open_ else 0,
        width=108,
        help=help,
        placeholder=str(highest) if open_ else None,
    )
    return (highest or 0) if chosen is None else chosen
