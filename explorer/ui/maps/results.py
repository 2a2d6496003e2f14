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
from explorer.networks.failure import explain
from explorer.ui.maps.network import Eyes, untrained
from explorer.ui.maps.picture import Chosen
from explorer.ui.widgets import device, refuse
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
class Look:
    """A picture before a network's eyes."""

    chosen: Chosen
    eyes: Eyes
    prepared: Prepared

    @property
    def key(self) -> tuple[str, ...]:
        return (self.chosen.digest, *self.eyes.key)

    @property
    def tensor(self) -> Tensor:
        """What the network gets, on its device."""
        return self.prepared.tensor.to(self.eyes.device)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.eyes.backbone.labels


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
_HASH: dict[Any, Any] = {Look: lambda look: look.key}


def look(chosen: Chosen, eyes: Eyes) -> Look:
    """The picture prepared as the network's own transform says, on the device that is chosen.

    Random weights stand in for the reader's own where those overflow, and the CPU for a device
    that cannot run the network; both are said.
    """
    found = _finite(chosen, eyes)
    chosen_device = device("Where the network runs")
    if chosen_device == CPU:
        return found
    try:
        return replace(found, eyes=_moved(found, chosen_device))
    except RuntimeError as error:  # out of memory, or an operation that the device does not have
        refuse(f"On {chosen_device}: {explain(error).message} The CPU stands in.")
        return found


def _finite(chosen: Chosen, eyes: Eyes) -> Look:
    found = Look(chosen, eyes, _prepared(chosen.digest, eyes.backbone.name, chosen, eyes))
    layer = _not_finite(found) if eyes.own else None
    if layer is None:
        return found
    refuse(
        f"With the weights in the file the layer {layer} gives values that are infinite or not "
        "numbers. Check them; random weights stand in."
    )
    return Look(chosen, untrained(eyes.backbone), found.prepared)


@st.cache_resource(
    max_entries=4, show_spinner="Moving the network", hash_funcs={Look: lambda look: look.eyes.key}
)
def _moved(look: Look, device: str) -> Eyes:
    """A copy of the network that has run on the device once."""
    model = copy_on(look.eyes.model, device)
    first_not_finite(model, look.prepared.tensor.to(device))
    return replace(look.eyes, model=model, device=device)


@st.cache_resource(max_entries=32, show_spinner="Trying the weights", hash_funcs=_HASH)
def _not_finite(look: Look) -> str | None:
    return first_not_finite(look.eyes.model, look.tensor)


@st.cache_resource(max_entries=32, show_spinner=False)
def _prepared(digest: str, network: str, _chosen: Chosen, _eyes: Eyes) -> Prepared:
    return _eyes.backbone.prepare(_chosen.picture.rgb)


@st.cache_resource(max_entries=32, show_spinner="Running the network", hash_funcs=_HASH)
def stills(look: Look, of: Of) -> tuple[Still, ...]:
    """Every convolution along the network, in the order they ran."""
    return tuple(map(_still, filmstrip(look.eyes.model, look.tensor, of=of)))


def _still(maps: FeatureMaps) -> Still:
    values = maps.activations[0]
    shown = range(min(FIRST, len(values)))
    drawn = tile(values, shown, columns=2, width=2 * 68, numbered=False)
    return Still(
        maps.layer, maps.call, maps.calls, values.shape, drawn.png(), drawn.levels.shape[1]
    )


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=_HASH)
def layers(look: Look, of: Of) -> tuple[MapLayer, ...]:
    """The layers that take or make maps."""
    return map_layers(look.eyes.model, look.tensor, of=of)


@st.cache_resource(max_entries=12, show_spinner="Running the network", hash_funcs=_HASH)
def maps(look: Look, layer: str, of: Of, call: int) -> FeatureMaps:
    """One call of one layer."""
    return feature_maps(look.eyes.model, look.tensor, layer, of=of, call=call)


def field(look: Look, layer: str, of: Of, call: int) -> Field:
    """What a position of a layer can see of the picture; None where that is not known."""
    calls = _fields(look, of).get(layer, ())
    return calls[call] if call < len(calls) else None


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=_HASH)
def _fields(look: Look, of: Of) -> dict[str, tuple[Field, ...]]:
    return receptive_fields(look.eyes.model, look.tensor, of=of)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=_HASH)
def prediction(look: Look) -> tuple[Prediction, ...]:
    """The five classes with the highest scores."""
    return tuple(predict(look.eyes.model, look.tensor, look.labels))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=_HASH)
def pixel(look: Look, layer: str, call: int, at: tuple[int, int, int]) -> PixelArithmetic:
    """The arithmetic of one output pixel: channel, row, column."""
    return pixel_arithmetic(look.eyes.model, look.tensor, layer, *at, call=call)


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=_HASH)
def weights(look: Look, layer: str) -> np.ndarray:
    """The kernels of a convolution."""
    return kernels(look.eyes.model, layer)


@st.cache_resource(max_entries=32, show_spinner="Going back through the network", hash_funcs=_HASH)
def evidence(look: Look, target: int) -> Saliency | str:
    """The gradient of a class score with respect to the input, or why there is none."""
    try:
        return saliency(look.eyes.model, look.tensor, target)
    except ValueError as error:
        return str(error)
    except OutOfMemoryError as error:
        return explain(error).message


@st.cache_resource(max_entries=32, show_spinner="Going back through the network", hash_funcs=_HASH)
def cam(look: Look, layer: str, call: int, target: int) -> GradCam | str:
    """Grad-CAM of a layer, or why there is none."""
    try:
        return grad_cam(look.eyes.model, look.tensor, layer, target, call=call)
    except ValueError as error:
        return str(error)
    except OutOfMemoryError as error:
        return explain(error).message


@st.cache_resource(max_entries=32, show_spinner="Running the network", hash_funcs=_HASH)
def without(look: Look, layer: str, channels: tuple[int, ...]) -> SwitchedOff:
    """The scores with some channels of a layer set to 0."""
    return switch_off(look.eyes.model, look.tensor, layer, channels)


def strip_png(look: Look, of: Of) -> bytes:
    """The whole filmstrip as one picture."""
    found = filmstrip(look.eyes.model, look.tensor, of=of)
    pictures = [
        tile(m.activations[0], range(min(FIRST, m.activations.shape[1])), columns=1, width=72).rgb
        for m in found
    ]
    return to_png(side_by_side(pictures, height=max(p.shape[0] for p in pictures)))


def layer_npz(look: Look, layer: str, of: Of, call: int) -> bytes:
    """A layer's values and statistics as a NumPy archive."""
    found = maps(look, layer, of, call)
    file = io.BytesIO()
    np.savez_compressed(file, activations=found.activations, **vars(found.statistics))
    return file.getvalue()
