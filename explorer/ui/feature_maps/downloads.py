"""The menu Download: what is on the page as one HTML file, the filmstrip, the values of the maps,
and the script that makes them."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from explorer import limits
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.channels import (
    channel_facts,
    describe_colours,
    shown_tiling,
    tiles_alt,
)
from explorer.ui.feature_maps.decision import doubt, is_doubtful, likeliest
from explorer.ui.feature_maps.filmstrip import FilmstripFrame, filmstrip_frames
from explorer.ui.feature_maps.network_choice import IMAGENET
from explorer.ui.feature_maps.results import ModelInput, ask, ask_or_reason
from explorer.ui.feature_maps.selection import Selection
from explorer.ui.widgets.basics import download_entry, note
from explorer.ui.widgets.download_menu import download_menu
from explorer.view.document.maps import maps_document, pixel_html
from explorer.view.document.page import notes
from explorer.view.document.sheet import Picture
from explorer.vision import Tiling, first_channels, layer_arithmetic, map_layers
from explorer.vision.drawing import STRIP_CHANNELS, draw_box, draw_filmstrip, to_png
from explorer.vision.feature_maps import Of, describe_size, number_layers
from explorer.vision.script import can_write_script, pack_script, write_script
from explorer.vision.tiles import to_colours

#: The width up to which a single picture is enlarged in the document, in CSS pixels.
_SIDE = 280
_NPZ = "application/octet-stream"


def draw_downloads(model_input: ModelInput, selected: Selection) -> None:
    """Draw the button that opens the downloads of what is selected."""
    make = partial(page_html, model_input, selected, shown_tiling(model_input, selected))
    place = download_menu(make, "feature-maps", "Pictures, values, a script")
    if not place:
        return
    layer, of, call = selected.layer.name, selected.of, selected.maps.call
    with place:
        download_entry(
            "Filmstrip as PNG",
            partial(filmstrip_png, model_input, of),
            "filmstrip.png",
            "image/png",
            "Four channels of every convolution, with the names of the layers",
        )
        download_entry(
            f"{layer} as NPZ",
            partial(layer_npz, model_input, layer, of, call),
            f"{layer}.npz",
            _NPZ,
            "All values of this layer and their statistics, for NumPy",
        )
        if filmstrip_bytes(model_input, of) <= limits.MAPS_FILE:
            download_entry(
                "Every convolution as NPZ",
                partial(filmstrip_npz, model_input, of),
                "feature_maps.npz",
                _NPZ,
                "All values of every convolution, for NumPy",
            )
        else:
            note(f"All convolutions together have more than {limits.MAPS_FILE >> 20} MB.")
        if can_write_script(model_input.loaded.backbone):
            download_entry(
                "Script as ZIP",
                partial(script_zip, model_input, of),
                "feature_maps.zip",
                "application/zip",
                "A script in plain PyTorch, with the image and the weights, that makes these maps",
            )


def page_html(
    model_input: ModelInput, selected: Selection, make_tiling: Callable[[], Tiling]
) -> str:
    """What the page shows of the selected layer, channel and position, as a document."""
    loaded, of, name = model_input.loaded, selected.of, selected.layer.name
    has_prediction = bool(model_input.labels) and loaded.trained
    layers = ask(model_input, map_layers, of=of)
    numbered = number_layers((layer.name, layer.type) for layer in layers)
    tiling = make_tiling()
    return maps_document(
        f"{loaded.backbone.title}: {model_input.chosen.name}",
        predictions=likeliest(model_input) if has_prediction else (),
        notes=[doubt(model_input)] if model_input.labels and is_doubtful(model_input) else [],
        image=_image_pictures(model_input, selected),
        strip=[_strip_picture(frame, of) for frame in filmstrip_frames(model_input, of)],
        layer=f"{name}: {numbered[name]}, {describe_size(selected.values.shape)}",
        maps=[
            Picture(
                tiling.png(),
                tiles_alt(selected, tiling),
                tiling.levels.shape[1],
                f"{describe_colours(tiling)}.",
            ),
            _channel_picture(selected, tiling),
        ],
        about=[channel_facts(selected)],
        pixel=_pixel(model_input, selected),
        layers=[
            (
                layer.name,
                numbered[layer.name],
                "; ".join(describe_size(size) for size in layer.sizes(of)),
            )
            for layer in layers
        ],
    )


def _image_pictures(model_input: ModelInput, selected: Selection) -> list[Picture]:
    """The network's input, and with a frame what the position sees of it."""
    rgb = model_input.prepared.rgb
    width = rgb.shape[1]
    seen = Picture(
        results.input_png(model_input),
        f"The input of {model_input.loaded.backbone.title}: {model_input.chosen.name}",
        _enlarged(width),
        " ".join(filter(None, ["The network's input.", model_input.chosen.credit])),
    )
    field = results.field(model_input, selected.layer.name, selected.of, selected.maps.call)
    if field is None:
        return [seen]
    place = f"row {selected.row}, column {selected.column} of {selected.layer.name}"
    framed = to_png(draw_box(rgb, field.box(selected.row, selected.column)))
    caption = f"The frame is what {place} sees."
    return [seen, Picture(framed, f"What {place} sees", _enlarged(width), caption)]


def _enlarged(width: int) -> int:
    """The width in CSS pixels: each pixel becomes so many as fit."""
    return width * max(1, _SIDE // width)


def _strip_picture(frame: FilmstripFrame, of: Of) -> Picture:
    name = frame.layer if frame.calls == 1 else f"{frame.layer}, call {frame.call}"
    alt = f"First channels of the {of} of {name}"
    return Picture(frame.png, alt, frame.width, f"{name}\n{describe_size(frame.size)}")


def _channel_picture(selected: Selection, tiling: Tiling) -> Picture:
    """The chosen channel, in the colours it has among the others; the browser enlarges it."""
    ranges = dict(zip(tiling.channels, tiling.ranges, strict=True))
    limit = ranges.get(selected.channel, tiling.ranges[0])[1] or 1.0
    rgb = to_colours(selected.map, limit, bool((selected.values < 0).any()))
    alt = f"Channel {selected.channel} of the {selected.of} of {selected.layer.name}"
    return Picture(to_png(rgb), alt, _enlarged(rgb.shape[1]), f"Channel {selected.channel}")


def _pixel(model_input: ModelInput, selected: Selection) -> str:
    if selected.of == "input":
        return ""
    arithmetic = ask_or_reason(
        model_input,
        layer_arithmetic,
        layer=selected.layer.name,
        channel=selected.channel,
        call=selected.maps.call,
    )
    if isinstance(arithmetic, str):
        return notes([arithmetic])
    return pixel_html(arithmetic, selected.row, selected.column)


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
