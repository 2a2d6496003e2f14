"""The channels of one layer as one picture, and the chosen channel beside it."""

from __future__ import annotations

import math
from functools import partial
from html import escape

import numpy as np
import streamlit as st

from explorer.trace.text import number
from explorer.ui.common.glossary import html, term_link
from explorer.ui.common.layout import columns
from explorer.ui.common.widgets import choice, download, label, note, page
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.image_grid import Frame, frames
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Spot, channel_names, pick_channel, pick_position
from explorer.vision import Tiling, tile
from explorer.vision.pictures import outlined, to_png
from explorer.vision.receptive_field import Field
from explorer.vision.tiles import coloured

#: Channels on a page; CSS pixels of the tiles together, of the chosen map, and of the picture.
_PAGE, _WIDTH, _MAP, _SEEN = 64, 572, 224, 150
_ORDERS, _SCALES = ["by index", "by strength"], ["one scale", "own scales"]


def channels(model_input: ModelInput, spot: Spot) -> None:
    """All channels at the left, the chosen one and what it looks at on the right."""
    left, right = columns(0.58, 0.42)
    with left:
        each = _all(model_input, spot)
    with right:
        _one(model_input, spot, each)


def _all(model_input: ModelInput, spot: Spot) -> bool:
    """Draw the tiles; tells whether each channel has a colour scale of its own."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        order = choice("Order", "order", _ORDERS, "Strength is the mean of the absolute values")
        each = _SCALES[1] == choice(
            "Scale", "scale", _SCALES, "One colour scale for the layer, or each channel its own"
        )
        tiling = tile(
            spot.values,
            _by_strength(spot.values) if order == _ORDERS[1] else None,
            per_channel=each,
            page=page("page", len(spot.values), _PAGE),
            page_size=_PAGE,
            columns=8 if len(spot.values) > 16 else math.ceil(math.sqrt(len(spot.values))),
            width=_WIDTH,
            names=channel_names(model_input, spot),
        )
        download(tiling.png, f"{spot.layer.name}.png", "These channels as PNG", key="tiles")

    def chosen(_: str, x: float, y: float) -> None:
        height, width = tiling.levels.shape
        for channel, (left, top, right, bottom) in zip(tiling.channels, tiling.boxes, strict=True):
            if left <= x * width < right and top <= y * height < bottom:
                pick_channel(channel)

    frames(
        [
            Frame(
                "tiles",
                tiling.png(),
                f"Channels {_list(tiling.channels)} of the {spot.of} of {spot.layer.name}",
                tiling.levels.shape[1],
                marks=_marked(tiling, spot.channel),
            )
        ],
        key="tiles",
        on_choose=chosen,
    )
    note(*_about(spot, tiling))
    return each


def _by_strength(values: np.ndarray) -> list[int]:
    return np.argsort(-abs(values).mean(axis=(1, 2)), kind="stable").tolist()


def _marked(tiling: Tiling, channel: int) -> tuple[tuple[float, float, float, float], ...]:
    if channel not in tiling.channels:
        return ()
    left, top, right, bottom = tiling.boxes[tiling.channels.index(channel)]
    height, width = tiling.levels.shape
    box = (left - 2, top - 2, right - left + 4, bottom - top + 4)
    return (tuple(n / of for n, of in zip(box, (width, height) * 2, strict=True)),)


def _about(spot: Spot, tiling: Tiling) -> tuple[str, ...]:
    """What the colours mean, and which channels are dead, in parts."""
    high = tiling.ranges[0][1]
    each = len(set(tiling.ranges)) > 1
    below = f"{number(-high)} (blue) over 0 (white)" if tiling.signed else "0 (white)"
    said = (
        "White is 0; each channel has colours of its own, up to its largest absolute value."
        if each
        else f"Colours run from {below} to {number(high)} (red)."
    )
    if tiling.mean_of > 1:
        n = tiling.mean_of
        said += f" Each pixel here is the mean of {n} × {n} values."
    dead = np.flatnonzero(spot.maps.statistics.dead)
    if not len(dead):
        return (said,)
    of = f"{len(dead)} of {len(spot.values)}"
    which = "channel" if len(dead) == 1 else "channels"
    rest = f", that is, nowhere above 0: {of}, {which} {_list(dead)}."
    return (f"{said} ", term_link("dead", "Dead"), rest)


def _list(numbers: np.ndarray | tuple[int, ...], most: int = 12) -> str:
    shown = ", ".join(map(str, numbers[:most]))
    return f"{shown} …" if len(numbers) > most else shown


def _one(model_input: ModelInput, spot: Spot, each: bool) -> None:
    height, width = spot.map.shape
    names = channel_names(model_input, spot)
    name = f", {names[spot.channel]}" if names else ""
    label(term_link("feature_map", "Channel"), f" {spot.channel}{name}")
    reach = float(abs(spot.map if each else spot.values).max())
    drawn = coloured(spot.map, reach or 1.0, bool((spot.values < 0).any()))
    field = results.field(model_input, spot.layer.name, spot.of, spot.maps.call)
    seen = model_input.prepared.seen
    box = field.box(spot.row, spot.column, *seen.shape[:2]) if field else None

    def chosen(_: str, x: float, y: float) -> None:
        pick_position(
            min(max(int(y * height), 0), height - 1), min(max(int(x * width), 0), width - 1)
        )

    left, right = st.columns([0.6, 0.4], gap="xsmall")
    with left:
        frames(
            [
                Frame(
                    "map",
                    to_png(drawn),
                    f"Channel {spot.channel} of {spot.layer.name}, {height} × {width} values",
                    _whole(width),
                    label="Choose a position",
                    marks=((spot.column / width, spot.row / height, 1 / width, 1 / height),),
                    smooth=width > _MAP,
                )
            ],
            key="map",
            on_choose=chosen,
        )
    with right:
        sides = seen.shape[1], seen.shape[0]
        part = box and (
            box[0] / sides[0],
            box[1] / sides[1],
            (box[2] - box[0]) / sides[0],
            (box[3] - box[1]) / sides[1],
        )
        frames(
            [
                Frame(
                    "field",
                    to_png(seen),
                    "The network's picture with the receptive field of the position",
                    _SEEN,
                    label="What it sees",
                    marks=(part,) if part else (),
                    smooth=True,
                )
            ],
            key="field",
        )
    st.html(f'<div class="ax-map-facts">{_facts(spot, field)}</div>')
    with st.container(horizontal=True, gap="small"):
        download(
            partial(to_png, drawn), "channel.png", "This channel as PNG", key="map", label="Map"
        )
        if box:
            boxed = partial(_boxed, seen, box)
            download(
                boxed,
                "field.png",
                "The picture with its frame as PNG",
                key="field",
                label="Picture",
            )


def _boxed(seen: np.ndarray, box: tuple[int, int, int, int]) -> bytes:
    return to_png(outlined(seen, box))


def _whole(width: int) -> int:
    """CSS pixels for a map: a whole number for each value where it fits."""
    return width * (_MAP // width) if width <= _MAP else _MAP


def _facts(spot: Spot, field: Field) -> str:
    s, i = spot.maps.statistics, spot.channel
    rows = {
        f"row {spot.row}, column {spot.column}": number(spot.value),
        term_link("receptive_field", "sees"): _extent(field),
        "range": f"{number(s.min[i])} to {number(s.max[i])}",
        "mean, std": f"{number(s.mean[i])}, {number(s.std[i])}",
        "above 0": f"{s.positive[i]:.1%}" + (" (dead)" if s.dead[i] else ""),
        "exactly 0": f"{s.zeros[i]:.1%}",
    }
    return "".join(f"<span>{html(k)}</span><b>{escape(v)}</b>" for k, v in rows.items())


def _extent(field: Field) -> str:
    if field is None:
        return "not known"
    if math.isinf(field.size[0]):
        return "the whole picture"
    return f"{field.size[0]:.0f} × {field.size[1]:.0f} pixels"
