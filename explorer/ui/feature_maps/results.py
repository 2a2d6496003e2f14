"""What a network computes from an image: each result is computed once and cached.

All results are immutable, and shared by all readers who need the same one.
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
from explorer.ui.feature_maps.image_choice import ChosenImage
from explorer.ui.feature_maps.network_choice import LoadedModel, untrained
from explorer.vision import (
    ChannelAblation,
    FeatureMaps,
    GradCam,
    MapLayer,
    PixelArithmetic,
    Prediction,
    PreparedImage,
    Saliency,
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
from explorer.vision.drawing import side_by_side, to_png
from explorer.vision.receptive_field import Field

Of = Literal["output", "input"]


@dataclass(frozen=True, eq=False)
class ModelInput:
    """An image prepared for a loaded model."""

    chosen: ChosenImage
    loaded: LoadedModel
    prepared: PreparedImage

    @property
    def key(self) -> tuple[str, ...]:
        return (self.chosen.digest, *self.loaded.key)

    @property
    def tensor(self) -> Tensor:
        """The network's input (1 × 3 × height × width), on its device."""
        return self.prepared.tensor.to(self.loaded.device)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.loaded.backbone.labels


@dataclass(frozen=True)
class FilmstripFrame:
    """One convolution in the filmstrip: its first channels as an image of `width` pixels."""

    layer: str
    call: int
    calls: int
    size: tuple[int, ...]
    png: bytes
    width: int


#: Channels of each convolution in the filmstrip.
FIRST = 4
HASH: dict[Any, Any] = {ModelInput: lambda model_input: model_input.key}


def make_model_input(chosen: ChosenImage, loaded: LoadedModel) -> ModelInput:
    """The image prepared by the network's own transform, on the chosen device.

    Random weights replace the reader's own where those overflow, and the CPU replaces a device
    that cannot run the network; the page says so.
    """
    prepared = _with_finite_weights(chosen, loaded)
    chosen_device = device("Where the network runs")
    if chosen_device == CPU:
        return prepared
    try:
        return replace(prepared, loaded=_moved(prepared, chosen_device))
    except RuntimeError as error:  # out of memory, or an operation that the device does not have
        refuse(f"On {chosen_device}: {explain(error).message} The CPU is used instead.")
        return prepared


def _with_finite_weights(chosen: ChosenImage, loaded: LoadedModel) -> ModelInput:
    prepared = _prepare(chosen.digest, loaded.backbone.name, chosen, loaded)
    model_input = ModelInput(chosen, loaded, prepared)
    layer = _not_finite(model_input) if loaded.own else None
    if layer is None:
        return model_input
    refuse(
        f"With the weights in this file, layer {layer} outputs infinite values or NaN. Check the "
        "file; random weights are used instead."
    )
    return replace(model_input, loaded=untrained(loaded.backbone))


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


@st.cache_resource(max_entries=32, show_spinner="Trying the weights", hash_funcs=HASH)
def _not_finite(model_input: ModelInput) -> str | None:
    return first_not_finite(model_input.loaded.model, model_input.tensor)


@st.cache_resource(max_entries=32, show_spinner=False)
def _prepare(
    digest: str, network: str, _chosen: ChosenImage, _loaded: LoadedModel
) -> PreparedImage:
    return _loaded.backbone.prepare(_chosen.image.rgb)


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=HASH)
def input_png(model_input: ModelInput) -> bytes:
    """The network's input as it is seen."""
    return to_png(model_input.prepared.rgb)


@st.cache_resource(max_entries=32, show_spinner="Running the network", hash_funcs=HASH)
def filmstrip_frames(model_input: ModelInput, of: Of) -> tuple[FilmstripFrame, ...]:
    """Every convolution of the network, in the order in which they ran."""
    return tuple(map(_frame, filmstrip(model_input.loaded.model, model_input.tensor, of=of)))


def _frame(maps: FeatureMaps) -> FilmstripFrame:
    values = maps.activations[0]
    shown = range(min(FIRST, len(values)))
    tiling = tile(values, shown, columns=2, width=2 * 68, numbered=False)
    return FilmstripFrame(
        maps.layer, maps.call, maps.calls, values.shape, tiling.png(), tiling.levels.shape[1]
    )


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=HASH)
def layers(model_input: ModelInput, of: Of) -> tuple[MapLayer, ...]:
    """The layers whose input or output is a set of maps."""
    return map_layers(model_input.loaded.model, model_input.tensor, of=of)


@st.cache_resource(max_entries=12, show_spinner="Running the network", hash_funcs=HASH)
def maps(model_input: ModelInput, layer: str, of: Of, call: int) -> FeatureMaps:
    """One call of one layer."""
    return feature_maps(model_input.loaded.model, model_input.tensor, layer, of=of, call=call)


def field(model_input: ModelInput, layer: str, of: Of, call: int) -> Field:
    """The receptive field of the positions of a layer; None where it is not known."""
    calls = _fields(model_input, of).get(layer, ())
    return calls[call] if call < len(calls) else None


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=HASH)
def _fields(model_input: ModelInput, of: Of) -> dict[str, tuple[Field, ...]]:
    return receptive_fields(model_input.loaded.model, model_input.tensor, of=of)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH)
def prediction(model_input: ModelInput) -> tuple[Prediction, ...]:
    """The five classes with the highest scores."""
    return tuple(predict(model_input.loaded.model, model_input.tensor, model_input.labels))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH)
def pixel(
    model_input: ModelInput, layer: str, call: int, at: tuple[int, int, int]
) -> PixelArithmetic:
    """The arithmetic of one output pixel: channel, row, column."""
    return pixel_arithmetic(model_input.loaded.model, model_input.tensor, layer, *at, call=call)


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=HASH)
def weights(model_input: ModelInput, layer: str) -> np.ndarray:
    """The kernels of a convolution."""
    return kernels(model_input.loaded.model, layer)


@st.cache_resource(max_entries=32, show_spinner="Running backward", hash_funcs=HASH)
def class_saliency(model_input: ModelInput, target: int) -> Saliency | str:
    """The gradient of a class score with respect to the input, or why there is none."""
    try:
        return saliency(model_input.loaded.model, model_input.tensor, target)
    except ValueError as error:
        return str(error)
    except OutOfMemoryError as error:
        return explain(error).message


@st.cache_resource(max_entries=32, show_spinner="Running backward", hash_funcs=HASH)
def cam(model_input: ModelInput, layer: str, call: int, target: int) -> GradCam | str:
    """Grad-CAM of a layer, or why there is none."""
    try:
        return grad_cam(model_input.loaded.model, model_input.tensor, layer, target, call=call)
    except ValueError as error:
        return str(error)
    except OutOfMemoryError as error:
        return explain(error).message


@st.cache_resource(max_entries=32, show_spinner="Running the network", hash_funcs=HASH)
def without_channels(
    model_input: ModelInput, layer: str, channels: tuple[int, ...]
) -> ChannelAblation:
    """The scores with some channels of a layer set to 0."""
    return switch_off(model_input.loaded.model, model_input.tensor, layer, channels)


def filmstrip_png(model_input: ModelInput, of: Of) -> bytes:
    """The whole filmstrip as one image."""
    all_maps = filmstrip(model_input.loaded.model, model_input.tensor, of=of)
    columns = [
        tile(m.activations[0], range(min(FIRST, m.activations.shape[1])), columns=1, width=72).rgb
        for m in all_maps
    ]
    return to_png(side_by_side(columns, height=max(column.shape[0] for column in columns)))


def layer_npz(model_input: ModelInput, layer: str, of: Of, call: int) -> bytes:
    """A layer's values and statistics as a NumPy archive."""
    layer_maps = maps(model_input, layer, of, call)
    file = io.BytesIO()
    np.savez_compressed(file, activations=layer_maps.activations, **vars(layer_maps.statistics))
    return file.getvalue()
