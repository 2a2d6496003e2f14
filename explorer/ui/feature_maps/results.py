"""What a network computes from an image: each result is computed once and cached.

All results are immutable, and shared by all readers who need the same one.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import streamlit as st
from torch import OutOfMemoryError, Tensor

from explorer.networks import CPU
from explorer.networks.error_messages import explain
from explorer.program import ProgramRefused
from explorer.ui.common.shared_cache import SharedCache, shared
from explorer.ui.common.widgets import device, refuse
from explorer.ui.feature_maps.image_choice import ChosenImage
from explorer.ui.feature_maps.network_choice import LoadedModel, in_place_of_own, untrained
from explorer.ui.feature_maps.own_network import ask_child, to_array
from explorer.vision import (
    RUNS,
    ChannelAblation,
    FeatureMaps,
    GradCam,
    LayerArithmetic,
    LayerDifference,
    MapLayer,
    Prediction,
    PreparedImage,
    Saliency,
    copy_on,
    first_not_finite,
    tile,
    top,
)
from explorer.vision.drawing import to_png
from explorer.vision.receptive_field import Field
from explorer.vision.tiles import GUTTER

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
        """The names of its outputs; of random weights no output stands for a class."""
        labels = self.loaded.backbone.labels
        return labels if self.loaded.trained else tuple(f"output {i}" for i in range(len(labels)))


@dataclass(frozen=True)
class FilmstripFrame:
    """One convolution in the filmstrip: its first channels as an image, `width` CSS pixels wide."""

    layer: str
    call: int
    calls: int
    size: tuple[int, ...]
    png: bytes
    width: int


#: A frame of the filmstrip has its first channels in two rows, each so many CSS pixels high; or in
#: one row, if those of all layers fit.
_SIDE, _LARGE_SIDE = 38, 66
#: Channels side by side in the whole filmstrip; each frame gets its share, and two at least.
_SIDE_BY_SIDE, _LARGE_SIDE_BY_SIDE = 30, 16

#: How many bytes of results are kept for all readers together.
KEPT_BYTES = 128 * 2**20
#: How many bytes of networks are kept on devices.
MOVED_BYTES = 2**30
#: The results, by what was asked: they are immutable, so all readers may share one.
_results: SharedCache[Any] = SharedCache(KEPT_BYTES)
#: What every visit to a reader's own network asks: one child answers all of it.
_OPENING: list[tuple[str, dict[str, Any]]] = [
    ("first_not_finite", {}),
    ("map_layers", {"of": "output"}),
    ("receptive_fields", {"of": "output"}),
    ("class_scores", {}),
]
#: What is the same for all images of one size.
_OF_ANY_IMAGE = {"map_layers", "receptive_fields", "layer_kernels"}


def by_input(model_input: ModelInput, *more: Hashable) -> Hashable:
    """The key in a cache of what depends on an input, and on more."""
    return model_input.key, *more


def make_model_input(chosen: ChosenImage, loaded: LoadedModel) -> ModelInput:
    """The image prepared by the network's own transform, on the chosen device.

    Random weights replace the reader's own where those overflow, and the CPU replaces a device
    that cannot run the network; the page says so.
    """
    prepared = _with_finite_weights(chosen, loaded)
    chosen_device = CPU if prepared.loaded.module else device("Where the network runs")
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
    try:
        layer = ask(model_input, "first_not_finite") if loaded.own else None
    except ProgramRefused as refused:
        refuse(refused.error.message)
        return _with_finite_weights(chosen, in_place_of_own())
    if layer is None:
        return model_input
    if loaded.module:
        refuse(f"For this image, layer {layer} of your network outputs infinite values or NaN.")
        return _with_finite_weights(chosen, in_place_of_own())
    refuse(
        f"With the weights in this file, layer {layer} outputs infinite values or NaN. Check the "
        "file; random weights are used instead."
    )
    return replace(model_input, loaded=untrained(loaded.backbone))


@shared(MOVED_BYTES, key=lambda model_input, device: (model_input.loaded.key, device))
def _moved(model_input: ModelInput, device: str) -> LoadedModel:
    """A copy of the network that has run on the device once."""
    with st.spinner("Moving the network"):
        model = copy_on(model_input.loaded.model, device)
        first_not_finite(model, model_input.prepared.tensor.to(device))
    return replace(model_input.loaded, model=model, device=device)


@shared(32 * 2**20, key=lambda digest, network, *_: (digest, network))
def _prepare(digest: str, network: str, chosen: ChosenImage, loaded: LoadedModel) -> PreparedImage:
    return loaded.backbone.prepare(chosen.image.rgb)


@shared(16 * 2**20, key=by_input)
def input_png(model_input: ModelInput) -> bytes:
    """The network's input as it is seen."""
    return to_png(model_input.prepared.rgb)


def ask(model_input: ModelInput, name: str, **arguments: Any) -> Any:
    """The result of one of `explorer.vision.RUNS`, which is computed once for all readers.

    A ModelInput among the arguments stands for its tensor. Raises ValueError where the run does,
    with a sentence for the reader.
    """
    inputs = {k: v.tensor for k, v in arguments.items() if isinstance(v, ModelInput)}
    keys = {k: v.key for k, v in arguments.items() if isinstance(v, ModelInput)}
    key = (name, _depends_on(model_input, name), tuple(sorted((arguments | keys).items())))
    return _results.get_or_make(key, lambda: _perform(model_input, name, arguments | inputs))


def _depends_on(model_input: ModelInput, name: str) -> tuple[Any, ...]:
    """Whatever of the input a result depends on: a reader's own network may do something else with
    every image."""
    if name in _OF_ANY_IMAGE and model_input.loaded.module is None:
        return (*model_input.prepared.tensor.shape, *model_input.loaded.key)
    return model_input.key


def _perform(model_input: ModelInput, name: str, arguments: dict[str, Any]) -> Any:
    """Do a run: of a network of the app here, of a reader's own in a child."""
    module = model_input.loaded.module
    if module is None:
        with st.spinner("Running the network"):
            return RUNS[name](model_input.loaded.model, model_input.tensor, **arguments)
    asked = [(name, {key: to_array(value) for key, value in arguments.items()})]
    if name == _OPENING[0][0]:
        asked += _OPENING[1:] if model_input.labels else _OPENING[1:-1]
    first, *others = ask_child(module, model_input.prepared.values, asked)
    for (other, given), result in zip(asked[1:], others, strict=True):
        _results.put((other, model_input.key, tuple(sorted(given.items()))), result)
    return first


def ask_or_reason(model_input: ModelInput, name: str, **arguments: Any) -> Any:
    """The same, or a sentence that says why there is no result."""
    try:
        return ask(model_input, name, **arguments)
    except (ValueError, ProgramRefused) as error:
        return str(error)
    except OutOfMemoryError as error:
        return explain(error).message


def filmstrip(model_input: ModelInput, of: Of, channels: int) -> tuple[FeatureMaps, ...]:
    """The first channels of every convolution of the network, in the order in which they ran."""
    maps: tuple[FeatureMaps, ...] = ask(model_input, "first_channels", count=channels, of=of)
    return maps


@shared(16 * 2**20, key=by_input)
def filmstrip_frames(model_input: ModelInput, of: Of) -> tuple[FilmstripFrame, ...]:
    """The same as images: more channels of each in a short network."""
    sizes = {layer.name: layer.sizes(of) for layer in layers(model_input, of)}
    calls = [
        call
        for layer in layers(model_input, of)
        if layer.type == "Conv2d"
        for call in layer.sizes(of)
    ]
    one_row = sum(size[0] for size in calls) <= _LARGE_SIDE_BY_SIDE
    rows, side = (1, _LARGE_SIDE) if one_row else (2, _SIDE)
    columns = _LARGE_SIDE_BY_SIDE if one_row else max(2, _SIDE_BY_SIDE // max(1, len(calls)))
    return tuple(
        _frame(maps, sizes[maps.layer][maps.call], rows, side, model_input)
        for maps in filmstrip(model_input, of, rows * columns)
        if maps.layer in sizes
    )


def _frame(
    maps: FeatureMaps, size: tuple[int, ...], rows: int, side: int, model_input: ModelInput
) -> FilmstripFrame:
    values = maps.activations[0]
    columns = -(-len(values) // rows)
    tiling = tile(
        values,
        columns=columns,
        width=2 * columns * side,
        numbered=False,
        per_channel=model_input.loaded.backbone.name == "filter_bank",  # they differ in kind
    )
    width = columns * (side + GUTTER // 2) + GUTTER // 2
    return FilmstripFrame(maps.layer, maps.call, maps.calls, size, tiling.png(), width)


def layers(model_input: ModelInput, of: Of) -> tuple[MapLayer, ...]:
    """The layers whose input or output is a set of maps."""
    found: tuple[MapLayer, ...] = ask(model_input, "map_layers", of=of)
    return found


def maps(model_input: ModelInput, layer: str, of: Of, call: int) -> FeatureMaps:
    """One call of one layer."""
    one: FeatureMaps = ask(model_input, "feature_maps", layer=layer, of=of, call=call)
    return one


def field(model_input: ModelInput, layer: str, of: Of, call: int) -> Field:
    """The receptive field of the positions of a layer; None where it is not known."""
    calls = ask(model_input, "receptive_fields", of=of).get(layer, ())
    return calls[call] if call < len(calls) else None


def prediction(model_input: ModelInput) -> tuple[Prediction, ...]:
    """The five classes with the highest scores."""
    return tuple(top(ask(model_input, "class_scores"), model_input.labels))


def arithmetic(model_input: ModelInput, layer: str, call: int, channel: int) -> LayerArithmetic:
    """How the values of one channel are computed."""
    place = {"layer": layer, "channel": channel, "call": call}
    result: LayerArithmetic = ask(model_input, "layer_arithmetic", **place)
    return result


def differences(first: ModelInput, second: ModelInput) -> tuple[LayerDifference, ...]:
    """How much every layer's output differs for two inputs of one network."""
    layers: tuple[LayerDifference, ...] = ask(first, "layer_differences", second=second)
    return layers


def with_image(model_input: ModelInput, chosen: ChosenImage) -> ModelInput:
    """Another image prepared for the same network."""
    loaded = model_input.loaded
    return ModelInput(chosen, loaded, _prepare(chosen.digest, loaded.backbone.name, chosen, loaded))


def weights(model_input: ModelInput, layer: str) -> np.ndarray:
    """The kernels of a convolution."""
    values: np.ndarray = ask(model_input, "layer_kernels", layer=layer)
    return values


def class_saliency(model_input: ModelInput, target: int) -> Saliency | str:
    """The gradient of a class score with respect to the input, or why there is none."""
    result: Saliency | str = ask_or_reason(model_input, "saliency", target=target)
    return result


def cam(model_input: ModelInput, layer: str, call: int, target: int) -> GradCam | str:
    """Grad-CAM of a layer, or why there is none."""
    place = {"layer": layer, "target": target, "call": call}
    result: GradCam | str = ask_or_reason(model_input, "grad_cam", **place)
    return result


def without_channels(
    model_input: ModelInput, layer: str, channels: tuple[int, ...]
) -> ChannelAblation:
    """The scores with some channels of a layer set to 0."""
    ablation: ChannelAblation = ask(model_input, "switch_off", layer=layer, channels=channels)
    return ablation
