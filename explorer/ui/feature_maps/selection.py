"""What the reader has selected: a layer, one of its channels, and a position in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import streamlit as st

from explorer.networks.image_networks import FILTER_BANK_CHANNELS
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.results import ModelInput, ask
from explorer.ui.widgets.basics import whole
from explorer.view.glossary import html, term_link
from explorer.vision import FeatureMaps, MapLayer, map_layers
from explorer.vision.feature_maps import Of, describe_size, number_layers
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
    """Draw the list of layers and the number fields, each with its label before it."""
    layers = {layer.name: layer for layer in ask(model_input, map_layers, of=of)}
    names = list(layers)
    first = names.index(_most_telling(layers.values(), of))
    if st.session_state.get("layer", names[first]) not in layers:
        st.session_state.layer = names[first]
    name = st.selectbox(
        "Layer",
        names,
        first,
        key="layer",
        bind="query-params",
        width=244,
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
    channel = _number("Channel", "channel", channels, "The index of the layer's channel, from 0")
    maps = results.maps(model_input, layer.name, of, call)
    field = results.field(model_input, layer.name, of, call)
    highest = _highest(maps.activations[0][channel], field, model_input.prepared.rgb.shape)
    row = _number("Row", "row", height, _OPEN, highest[0])
    column = _number("Column", "column", width, _OPEN, highest[1])
    numbered = number_layers((each.name, each.type) for each in layers.values())
    kind, rest = numbered[layer.name].split(" ", 1)
    term = term_link("convolution", kind) if layer.type == "Conv2d" else kind
    described = html(term, f" {rest} · {describe_size(sizes[call])}")
    st.html(f'<div class="ax-note">{described}</div>', width="stretch")
    return Selection(layer, of, maps, channel, row, column)


def _most_telling(layers: Iterable[MapLayer], of: Of) -> str:
    """The first layer with more maps than an image has colours, or else with several."""
    counts = {layer.name: layer.sizes(of)[0][0] for layer in layers}
    several = [[name for name, count in counts.items() if count > least] for least in (3, 1, 0)]
    return next(filter(None, several))[0]


def channel_names(model_input: ModelInput, selected: Selection) -> tuple[str, ...]:
    """What the channels of a layer of the filter bank are; elsewhere channels have no names."""
    if model_input.loaded.backbone.name != "filter_bank" or selected.of == "input":
        return ()
    return FILTER_BANK_CHANNELS.get(selected.layer.name, ())


def pick_layer(layer: str, call: int) -> None:
    """In a callback: select another layer."""
    st.session_state["layer"], st.session_state["call"] = layer, call


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
        width=92 + 8 * len(label),
        help=help,
        placeholder=str(highest) if open_ else None,
    )
    return (highest or 0) if chosen is None else chosen
