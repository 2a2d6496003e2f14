"""The menu of files: the filmstrip, the values of the maps, and the script that makes them."""

from __future__ import annotations

import io
import math
from functools import partial
from typing import Any

import numpy as np

from explorer import limits
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.filmstrip import filmstrip_frames
from explorer.ui.feature_maps.network_choice import IMAGENET
from explorer.ui.feature_maps.results import ModelInput, ask
from explorer.ui.feature_maps.selection import Selection
from explorer.ui.widgets.basics import download, menu, note
from explorer.vision import first_channels, map_layers
from explorer.vision.drawing import STRIP_CHANNELS, draw_filmstrip, to_png
from explorer.vision.feature_maps import Of
from explorer.vision.script import can_write_script, pack_script, write_script


def draw_downloads(model_input: ModelInput, selected: Selection) -> None:
    """Draw the button that opens the downloads of what is selected."""
    place = menu("Download", icon="download", key="files", help="Pictures, values, and a script")
    if not place:
        return
    layer, of, call = selected.layer.name, selected.of, selected.maps.call
    with place:
        download(
            partial(filmstrip_png, model_input, of),
            "filmstrip.png",
            "Four channels of every convolution, with the names of the layers",
            key="strip",
            label="Filmstrip as PNG",
        )
        download(
            partial(layer_npz, model_input, layer, of, call),
            f"{layer}.npz",
            "All values of this layer and their statistics, for NumPy",
            key="layer",
            label=f"{layer} as NPZ",
            mime="application/octet-stream",
        )
        if filmstrip_bytes(model_input, of) <= limits.MAPS_FILE:
            download(
                partial(filmstrip_npz, model_input, of),
                "feature_maps.npz",
                "All values of every convolution, for NumPy",
                key="all",
                label="Every convolution as NPZ",
                mime="application/octet-stream",
            )
        else:
            note(f"All convolutions together have more than {limits.MAPS_FILE >> 20} MB.")
        if can_write_script(model_input.loaded.backbone):
            download(
                partial(script_zip, model_input, of),
                "feature_maps.zip",
                "A script in plain PyTorch, with the image and the weights, that makes these maps",
                key="script",
                label="Script as ZIP",
                mime="application/zip",
            )


def filmstrip_png(model_input: ModelInput, of: Of) -> bytes:
    """The whole filmstrip as one image, with the names of the layers."""
    sizes = {layer.name: layer.sizes(of) for layer in ask(model_input, map_layers, of=of)}
    strip = ask(model_input, first_channels, count=STRIP_CHANNELS, of=of)
    sized = [(each, sizes[each.layer][each.call]) for each in strip if each.layer in sizes]
    return to_png(draw_filmstrip(sized))


def layer_npz(model_input: ModelInput, layer: str, of: Of, call: int) -> bytes:
    """A layer's values and statistics as a NumPy archive."""
    layer_maps = results.maps(model_input, layer, of, call)
    file = io.BytesIO()
    np.savez_compressed(file, activations=layer_maps.activations, **vars(layer_maps.statistics))
    return file.getvalue()


def filmstrip_bytes(model_input: ModelInput, of: Of) -> int:
    """The size of all values of the filmstrip, which are float32."""
    return sum(4 * math.prod(frame.size) for frame in filmstrip_frames(model_input, of))


def filmstrip_npz(model_input: ModelInput, of: Of) -> bytes:
    """All values of every convolution as a NumPy archive: an array for each, by its name."""
    most = max(frame.size[0] for frame in filmstrip_frames(model_input, of))
    arrays: dict[str, Any] = {
        f"{maps.layer} call {maps.call}" if maps.call else maps.layer: maps.activations
        for maps in ask(model_input, first_channels, count=most, of=of)
    }
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def script_zip(model_input: ModelInput, of: Of) -> bytes:
    """A script that makes the maps of every convolution again, with the image and the weights
    that it cannot get elsewhere."""
    loaded = model_input.loaded
    published = loaded.weights == IMAGENET
    packed = loaded.trained and not published
    script = write_script(loaded.backbone, of=of, published=published, own_weights=packed)
    return pack_script(script, model_input.chosen.image.rgb, loaded.model if packed else None)
