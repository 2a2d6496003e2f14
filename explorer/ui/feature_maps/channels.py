"""The tabs of one layer: Channels, all of them as one image, and the selected one; Kernels; and
Statistics."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import streamlit as st

from explorer.trace.text import number
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.image_grid import GridImage, Part, draw_image_grid
from explorer.ui.feature_maps.pointer import draw_pointer
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Selection, channel_names, pick_channel
from explorer.ui.widgets.basics import choice, columns, download, label, note, page, whole
from explorer.view.glossary import term_link
from explorer.vision import Tiling, layer_kernels, tile
from explorer.vision.drawing import draw_box, to_png
from explorer.vision.tiles import to_colours

#: Channels on a page, and CSS pixels of the tiles together.
_PAGE, _WIDTH = 64, 572
_ORDERS, _SCALES = ["by index", "by strength"], ["one scale", "own scales"]
_ONE, _EVERY = "of this channel", "of all channels"
#: Kernels on a page and in a row, and the width of a full row in CSS pixels.
_KERNEL_PAGE, _KERNEL_COLUMNS, _KERNEL_WIDTH = 128, 16, 940


def draw_channels(model_input: ModelInput, selected: Selection) -> None:
    """Draw all channels on the left; on the right the selected one and its receptive field."""
    left, right = columns(0.5, 0.5)
    with left:
        per_channel = _draw_tiles(model_input, selected)
    with right:
        _draw_channel(model_input, selected, per_channel)


def _draw_tiles(model_input: ModelInput, selected: Selection) -> bool:
    """Draw the tiles; return whether each channel has its own colour scale."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        order = choice("Order", "order", _ORDERS, "Strength is the mean absolute value")
        per_channel = _SCALES[1] == choice(
            "Scale",
            "scale",
            _SCALES,
            "One colour scale for the whole layer, or one for each channel",
        )
        shown = page("page", len(selected.values), _PAGE)
        tiling = _tile(model_input, selected, order, per_channel, shown)
        download(tiling.png, f"{selected.layer.name}.png", "These channels as PNG", key="tiles")

    def pick(_: str, x: float, y: float) -> None:
        height, width = tiling.levels.shape
        for channel, (left, top, right, bottom) in zip(tiling.channels, tiling.boxes, strict=True):
            if left <= x * width < right and top <= y * height < bottom:
                pick_channel(channel)

    draw_image_grid(
        [
            GridImage(
                "tiles",
                tiling.png(),
                tiles_alt(selected, tiling),
                tiling.levels.shape[1],
                marks=_mark(tiling, selected.channel),
            )
        ],
        key="tiles",
        on_choose=pick,
    )
    note(*_describe_tiles(selected, tiling))
    return per_channel


def _tile(
    model_input: ModelInput, selected: Selection, order: str, per_channel: bool, page: int
) -> Tiling:
    return tile(
        selected.values,
        _by_strength(selected.values) if order == _ORDERS[1] else None,
        per_channel=per_channel,
        page=page,
        page_size=_PAGE,
        columns=8 if len(selected.values) > 16 else math.ceil(math.sqrt(len(selected.values))),
        width=_WIDTH,
        names=channel_names(model_input, selected),
    )


def shown_tiling(model_input: ModelInput, selected: Selection) -> Callable[[], Tiling]:
    """Makes the tiles as they are on the page, or were when that tab was open."""
    state, pages = st.session_state, -(-len(selected.values) // _PAGE)
    order, scale = state.get("order", _ORDERS[0]), state.get("scale", _SCALES[0])
    number = min(round(state.get("page") or 1), pages) - 1
    return partial(_tile, model_input, selected, order, scale == _SCALES[1], number)


def _by_strength(values: np.ndarray) -> list[int]:
    return np.argsort(-abs(values).mean(axis=(1, 2)), kind="stable").tolist()


def _mark(tiling: Tiling, channel: int) -> tuple[Part, ...]:
    """The outline of the channel's tile, if it is on the page."""
    if channel not in tiling.channels:
        return ()
    left, top, right, bottom = tiling.boxes[tiling.channels.index(channel)]
    height, width = tiling.levels.shape
    box = (left - 2, top - 2, right - left + 4, bottom - top + 4)
    return (tuple(n / of for n, of in zip(box, (width, height) * 2, strict=True)),)


def describe_colours(tiling: Tiling) -> str:
    """The meaning of the colours, with the values of the strongest ones."""
    limit = number(tiling.ranges[0][1])
    colours, scale = "White = 0, red = positive", f"up to {limit}"
    if tiling.signed:
        colours, scale = "Blue = negative, white = 0, red = positive", f"±{limit}"
    if len(set(tiling.ranges)) > 1:
        scale = "each channel has its own scale"
    return f"{colours} ({scale})"


def _describe_tiles(selected: Selection, tiling: Tiling) -> tuple[str, ...]:
    """What the colours mean, and which channels are dead, as the parts of a note."""
    sentence = f"{describe_colours(tiling)}."
    if tiling.mean_of > 1:
        n = tiling.mean_of
        sentence += f" Each pixel here is the mean of {n} × {n} values."
    dead = np.flatnonzero(selected.maps.statistics.dead)
    if not len(dead):
        return (sentence,)
    rest = f" (never above 0): {len(dead)} of {len(selected.values)} channels ({_list(dead)})."
    return (f"{sentence} ", term_link("dead", "Dead"), rest)


def tiles_alt(selected: Selection, tiling: Tiling) -> str:
    """What the picture of the tiles shows."""
    return f"Channels {_list(tiling.channels)} of the {selected.of} of {selected.layer.name}"


def _list(numbers: np.ndarray | tuple[int, ...], limit: int = 12) -> str:
    shown = ", ".join(map(str, numbers[:limit]))
    return f"{shown} …" if len(numbers) > limit else shown


def _draw_channel(model_input: ModelInput, selected: Selection, per_channel: bool) -> None:
    """Draw the selected channel, and the receptive field of the selected position on the image."""
    names = channel_names(model_input, selected)
    name = f", {names[selected.channel]}" if names else ""
    label(term_link("feature_map", "Channel"), f" {selected.channel}{name}")
    limit = float(abs(selected.map if per_channel else selected.values).max()) or 1.0
    draw_pointer(model_input, selected, limit)
    note(channel_facts(selected))
    with st.container(horizontal=True, gap="small"):
        channel = to_colours(selected.map, limit, bool((selected.values < 0).any()))
        download(
            partial(to_png, channel), "channel.png", "This channel as PNG", key="map", label="Map"
        )
        field = results.field(model_input, selected.layer.name, selected.of, selected.maps.call)
        if field:
            box = field.box(selected.row, selected.column)
            download(
                partial(_boxed, model_input.prepared.rgb, box),
                "field.png",
                "The image with the receptive field as PNG",
                key="field",
                label="Image",
            )


def _boxed(rgb: np.ndarray, box: tuple[int, int, int, int]) -> bytes:
    return to_png(draw_box(rgb, box))


def channel_facts(selected: Selection) -> str:
    """The statistics of the channel in a sentence."""
    s, i = selected.maps.statistics, selected.channel
    dead = " (dead)" if s.dead[i] else ""
    return (
        f"Values from {number(s.min[i])} to {number(s.max[i])}, mean {number(s.mean[i])}, "
        f"std {number(s.std[i])}; {s.positive[i]:.1%} above 0{dead}, {s.zeros[i]:.1%} exactly 0."
    )


def draw_kernels(model_input: ModelInput, selected: Selection) -> None:
    """Draw the kernels of the selected channel, one for each input channel; or those of every
    channel for one input channel."""
    if selected.layer.type != "Conv2d":
        note(f"{selected.layer.name} is a {selected.layer.type}. Only convolutions have kernels.")
        return
    weights = results.ask(model_input, layer_kernels, layer=selected.layer.name)
    out, inputs, height, width = weights.shape
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        scope = choice(
            "Kernels",
            "kernels",
            [_ONE, _EVERY],
            "The kernels of the selected channel, or those of every channel for one input channel",
        )
        if scope == _EVERY and inputs > 1:
            of = _input_channel(inputs)
            shown, which = weights[:, of], f"for input channel {of}"
        elif scope == _EVERY:
            shown, which = weights[:, 0], "for its input channel"
        else:
            channel = min(selected.channel, out - 1) if selected.of == "output" else 0
            shown, which = weights[channel], f"of channel {channel}, one for each input channel"
        tiling = tile(
            shown,
            page=page("kernel-page", len(shown), _KERNEL_PAGE),
            page_size=_KERNEL_PAGE,
            columns=_KERNEL_COLUMNS,
            width=_kernels_width(len(shown)),
        )
        download(tiling.png, "kernels.png", "These kernels as PNG", key="kernels")
    alt = f"Kernels of {selected.layer.name}, {height} × {width}, {which}"
    draw_image_grid(
        [GridImage("kernels", tiling.png(), alt, tiling.levels.shape[1])], key="kernels-picture"
    )
    colours = describe_colours(tiling)
    note(term_link("kernel", "Kernels"), f" {which}: {height} × {width}. {colours}.")


def _input_channel(count: int) -> int:
    chosen = whole(
        "Input channel",
        "kernel-input",
        0,
        count - 1,
        start=0,
        hidden=True,
        help="The input channel that the kernels are applied to",
    )
    return chosen or 0


def _kernels_width(count: int) -> int:
    """The width in CSS pixels: less for a few kernels, which would be drawn too large."""
    return min(_KERNEL_WIDTH, 96 * min(count, _KERNEL_COLUMNS))


def draw_statistics(model_input: ModelInput, selected: Selection) -> None:
    """Draw one row for each channel; a click on a heading sorts."""
    statistics = selected.maps.statistics
    count = len(statistics.min)
    table: dict[str, object] = {"channel": list(range(count))}
    if names := channel_names(model_input, selected):
        table["filter"] = names
    table |= {
        "min": statistics.min,
        "max": statistics.max,
        "mean": statistics.mean,
        "std": statistics.std,
        "above 0": statistics.positive,
        "exactly 0": statistics.zeros,
        "dead": statistics.dead,
    }
    percent = st.column_config.NumberColumn(format="percent")
    st.dataframe(
        table,
        hide_index=True,
        height=380,
        column_config={"above 0": percent, "exactly 0": percent},
        alt=f"Statistics of every channel of {selected.layer.name}",
    )
    dead = int(statistics.dead.sum())
    note(
        term_link("dead", "Dead"),
        f" means that no value is above 0 for this image: {dead} of {count} channels.",
    )
