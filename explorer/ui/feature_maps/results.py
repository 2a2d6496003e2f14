"""What a network sees in a picture, computed once for each question and kept.

All results are immutable and shared by all readers who ask the same.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import streamlit as st
from torch import OutOfMemoryError, Tensor

from explorer.networks import CPU
from explorer.networks.error_messages import explain
from explorer.ui.common.widgets import device, refuse
from explorer.ui.feature_maps.network import LoadedModel, untrained
from explorer.ui.feature_maps.picture import Chosen
from explorer.vision import (
    FeatureMaps,
    GradCam,
    MapLayer,
    PixelArithmetic,
    Prediction,
    Prepared,
    Saliency,
    SwitchedOff,
    copy_on,
    feature_maps,
    filmstrip,
    first_not_finite,
    grad_cam,
    kernels,
    map_layers,
    pixel_arithmetic,
    predict,
    receptive_fields,
    saliency,
    switch_off,
    tile,
)
from explorer.vision.pictures import side_by_side, to_png
from explorer.vision.receptive_field import Field

Of = Literal["output", "input"]


@dataclass(frozen=True, eq=False)
class ModelInput:
    """A picture before a network's eyes."""

    chosen: Chosen
    loaded: LoadedModel
    prepared: Prepared

    @property
    def key(self) -> tuple[str, ...]:
        return (self.chosen.digest, *self.loaded.key)

    @property
    def tensor(self) -> Tensor:
        """What the network gets, on its device."""
        return self.prepared.tensor.to(self.loaded.device)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.loaded.backbone.labels


@dataclass(frozen=True)
class Still:
    """One convolution in the filmstrip: its first channels as a picture of `width` pixels."""

    layer: str
    call: int
    calls: int
    size: tuple[int, ...]
    png: bytes
    width: int


#: Channels of each convolution in the filmstrip.
FIRST = 4
_HASH: dict[Any, Any] = {ModelInput: lambda model_input: model_input.key}


def model_input(chosen: Chosen, loaded: LoadedModel) -> ModelInput:
    """The picture prepared as the network's own transform says, on the device that is chosen.

    Random weights stand in for the reader's own where those overflow, and the CPU for a device
    that cannot run the network; both are said.
    """
    found = _finite(chosen, loaded)
    chosen_device = device("Where the network runs")
    if chosen_device == CPU:
        return found
    try:
        return replace(found, loaded=_moved(found, chosen_device))
    except RuntimeError as error:  # out of memory, or an operation that the device does not have
        refuse(f"On {chosen_device}: {explain(error).message} The CPU stands in.")
        return found


def _finite(chosen: Chosen, loaded: LoadedModel) -> ModelInput:
    found = ModelInput(
        chosen, loaded, _prepared(chosen.digest, loaded.backbone.name, chosen, loaded)
    )
    layer = _not_finite(found) if loaded.own else None
    if layer is None:
        return found
    refuse(
        f"With the weights in the file the layer {layer} gives values that are infinite or not "
        "numbers. Check them; random weights stand in."
    )
    return ModelInput(chosen, untrained(loaded.backbone), found.prepared)


@st.cache_resource(
    max_entries=4,
    show_spinner="Moving the network",
    hash_funcs={ModelInput: lambda model_input: model_input.loaded.key},
)
def _moved(model_input: ModelInput, device: str) -> LoadedModel:
    """A copy of the network that has run on the device once."""
    model = copy_on(model_input.loaded.model, device)
    first_not_finite(model, model_input.prepared.tensor.to(device))
    return replace(model_input.loaded, model=model, device=device)


@st.cache_resource(max_entries=32, show_spinner="Trying the weights", hash_funcs=_HASH)
def _not_finite(model_input: ModelInput) -> str | None:
    return first_not_finite(model_input.loaded.model, model_input.tensor)


@st.cache_resource(max_entries=32, show_spinner=False)
def _prepared(digest: str, network: str, _chosen: Chosen, _eyes: LoadedModel) -> Prepared:
    return _eyes.backbone.prepare(_chosen.picture.rgb)


@st.cache_resource(max_entries=32, show_spinner="Running the network", hash_funcs=_HASH)
def stills(model_input: ModelInput, of: Of) -> tuple[Still, ...]:
    """Every convolution along the network, in the order they ran."""
    return tuple(map(_still, filmstrip(model_input.loaded.model, model_input.tensor, of=of)))


def _still(maps: FeatureMaps) -> Still:
    values = maps.activations[0]
    shown = range(min(FIRST, len(values)))
    drawn = tile(values, shown, columns=2, width=2 * 68, numbered=False)
    return Still(
        maps.layer, maps.call, maps.calls, values.shape, drawn.png(), drawn.levels.shape[1]
    )


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=_HASH)
def layers(model_input: ModelInput, of: Of) -> tuple[MapLayer, ...]:
    """The layers that take or make maps."""
    return map_layers(model_input.loaded.model, model_input.tensor, of=of)


@st.cache_resource(max_entries=12, show_spinner="Running the network", hash_funcs=_HASH)
def maps(model_input: ModelInput, layer: str, of: Of, call: int) -> FeatureMaps:
    """One call of one layer."""
    return feature_maps(model_input.loaded.model, model_input.tensor, layer, of=of, call=call)


def field(model_input: ModelInput, layer: str, of: Of, call: int) -> Field:
    """What a position of a layer can see of the picture; None where that is not known."""
    calls = _fields(model_input, of).get(layer, ())
    return calls[call] if call < len(calls) else None


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=_HASH)
def _fields(model_input: ModelInput, of: Of) -> dict[str, tuple[Field, ...]]:
    return receptive_fields(model_input.loaded.model, model_input.tensor, of=of)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=_HASH)
def prediction(model_input: ModelInput) -> tuple[Prediction, ...]:
    """The five classes with the highest scores."""
    return tuple(predict(model_input.loaded.model, model_input.tensor, model_input.labels))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=_HASH)
def pixel(
    model_input: ModelInput, layer: str, call: int, at: tuple[int, int, int]
) -> PixelArithmetic:
    """The arithmetic of one output pixel: channel, row, column."""
    return pixel_arithmetic(model_input.loaded.model, model_input.tensor, layer, *at, call=call)


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=_HASH)
def weights(model_input: ModelInput, layer: str) -> np.ndarray:
    """The kernels of a convolution."""
    return kernels(model_input.loaded.model, layer)


@st.cache_resource(max_entries=32, show_spinner="Going back through the network", hash_funcs=_HASH)
def evidence(model_input: ModelInput, target: int) -> Saliency | str:
    """The gradient of a class score with respect to the input, or why there is none."""
    try:
        return saliency(model_input.loaded.model, model_input.tensor, target)
    except ValueError as error:
        return str(error)
    except OutOfMemoryError as error:
        return explain(error).message


@st.cache_resource(max_entries=32, show_spinner="Going back through the network", hash_funcs=_HASH)
def cam(model_input: ModelInput, layer: str, call: int, target: int) -> GradCam | str:
    """Grad-CAM of a layer, or why there is none."""
    try:
        return grad_cam(model_input.loaded.model, model_input.tensor, layer, target, call=call)
    except ValueError as error:
        return str(error)
    except OutOfMemoryError as error:
        return explain(error).message


@st.cache_resource(max_entries=32, show_spinner="Running the network", hash_funcs=_HASH)
def without(model_input: ModelInput, layer: str, channels: tuple[int, ...]) -> SwitchedOff:
    """The scores with some channels of a layer set to 0."""
    return switch_off(model_input.loaded.model, model_input.tensor, layer, channels)


def strip_png(model_input: ModelInput, of: Of) -> bytes:
    """The whole filmstrip as one picture."""
    found = filmstrip(model_input.loaded.model, model_input.tensor, of=of)
    pictures = [
        tile(m.activations[0], range(min(FIRST, m.activations.shape[1])), columns=1, width=72).rgb
        for m in found
    ]
    return to_png(side_by_side(pictures, height=max(p.shape[0] for p in pictures)))


def layer_npz(model_input: ModelInput, layer: str, of: Of, call: int) -> bytes:
    """A layer's values and statistics as a NumPy archive."""
    found = maps(model_input, layer, of, call)
    file = io.BytesIO()
    np.savez_compressed(file, activations=found.activations, **vars(found.statistics))
    return file.getvalue()
