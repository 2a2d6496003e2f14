"""The filmstrip: the first channels of every convolution along the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from explorer import limits
from explorer.ui.feature_maps.image_grid import GridImage, draw_image_grid
from explorer.ui.feature_maps.results import ModelInput, ask, by_input
from explorer.ui.feature_maps.selection import Selection, pick_layer
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.basics import choice
from explorer.vision import FeatureMaps, first_channels, map_layers, tile
from explorer.vision.feature_maps import Of, describe_size, number_layers
from explorer.vision.tiles import GUTTER


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

_HELP = "Each layer's output or its input, before anything changes it in place"


def choose_side() -> Of:
    """Draw the choice between the outputs of the layers and their inputs."""
    return cast(Of, choice("Show", "of", ["output", "input"], _HELP))


@shared(limits.KEPT_PICTURES, key=by_input)
def filmstrip_frames(model_input: ModelInput, of: Of) -> tuple[FilmstripFrame, ...]:
    """The first channels of every convolution: more of each in a short network."""
    layers = ask(model_input, map_layers, of=of)
    sizes = {layer.name: layer.sizes(of) for layer in layers}
    calls = [size for layer in layers if layer.type == "Conv2d" for size in layer.sizes(of)]
    one_row = sum(size[0] for size in calls) <= _LARGE_SIDE_BY_SIDE
    rows, side = (1, _LARGE_SIDE) if one_row else (2, _SIDE)
    columns = _LARGE_SIDE_BY_SIDE if one_row else max(2, _SIDE_BY_SIDE // max(1, len(calls)))
    return tuple(
        _frame(maps, sizes[maps.layer][maps.call], rows, side, model_input)
        for maps in ask(model_input, first_channels, count=rows * columns, of=of)
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


def draw_filmstrip(model_input: ModelInput, of: Of, selected: Selection) -> None:
    """Draw the filmstrip; a click on a frame selects its layer."""
    frames = filmstrip_frames(model_input, of)
    current = selected.layer.name, selected.maps.call
    numbered = number_layers((frame.layer, "Conv2d") for frame in frames)
    draw_image_grid(
        [
            _grid_image(frame, of, numbered[frame.layer], (frame.layer, frame.call) == current)
            for frame in frames
        ],
        key="strip",
        on_choose=_select_layer,
        film=True,
    )


def _grid_image(frame: FilmstripFrame, of: Of, number: str, selected: bool) -> GridImage:
    name = frame.layer if frame.calls == 1 else f"{frame.layer}, call {frame.call}"
    return GridImage(
        id=f"{frame.call} {frame.layer}",
        png=frame.png,
        alt=f"First channels of the {of} of {name}",
        width=frame.width,
        label=f"{number.partition(' of ')[0]}\n{name}",
        title=f"{number} · {describe_size(frame.size)} · {name}\n"
        "Its first channels; each layer has its own colour scale",
        selected=selected,
        smooth=True,
    )


def _select_layer(name: str, x: float, y: float) -> None:
    call, _, layer = name.partition(" ")
    pick_layer(layer, int(call))
