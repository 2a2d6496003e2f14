"""What the network makes of the picture: its prediction, and what the prediction rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from html import escape

import numpy as np
import streamlit as st

from explorer.trace.text import number
from explorer.ui.common.glossary import term_link
from explorer.ui.common.layout import columns
from explorer.ui.common.widgets import download, label, note
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.image_grid import Frame, frames
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Spot
from explorer.vision.attribution import top
from explorer.vision.pictures import overlaid, to_png
from explorer.vision.tiles import coloured

_WIDTH = 288


def prediction(model_input: ModelInput) -> None:
    """The five classes with the highest scores, as bars."""
    if not model_input.labels:
        note("The filter bank's kernels are fixed by formula. It predicts nothing.")
        return
    label("Prediction" if model_input.loaded.trained else "Prediction of random weights")
    found = results.prediction(model_input)
    st.html(_bars(Bar(e.label, e.probability, f"{e.probability:.1%}") for e in found))


def decision(model_input: ModelInput, spot: Spot) -> None:
    """Grad-CAM and saliency for one class, and the prediction without some channels."""
    best = results.prediction(model_input)
    options = [entry.index for entry in best]
    names = {entry.index: entry.label for entry in best}
    if st.session_state.get("class") not in options:
        st.session_state["class"] = options[0]
    target = st.selectbox(
        "Class",
        options,
        format_func=lambda index: names.get(index, str(index)),
        key="class",
        bind="query-params",
        width=300,
        help="For which of the five predicted classes evidence is shown",
    )
    left, middle, right = columns(1, 1, 1)
    with left:
        _cam(model_input, spot, target, names[target])
    with middle:
        _saliency(model_input, target, names[target])
    with right:
        _without(model_input, spot)


def _cam(model_input: ModelInput, spot: Spot, target: int, name: str) -> None:
    label(term_link("grad_cam"), f" of {spot.layer.name}")
    found = results.cam(model_input, spot.layer.name, spot.maps.call, target)
    if isinstance(found, str):
        note(found)
        return
    picture = overlaid(model_input.prepared.seen, found.over_input)
    _shown("cam", picture, f"Where {spot.layer.name} holds evidence for {name}")
    note(
        f"The layer's maps, weighted by the mean gradient of the score for {name}; what is "
        "below 0 is cut off. Try the last layers."
        if found.map.any()
        else f"Nothing in this layer speaks for {name}: the map is 0 everywhere."
    )
    download(partial(to_png, picture), "grad-cam.png", "Grad-CAM as PNG", key="cam")


def _saliency(model_input: ModelInput, target: int, name: str) -> None:
    label(term_link("saliency"))
    found = results.evidence(model_input, target)
    if isinstance(found, str):
        note(found)
        return
    reach = float(found.map.max())
    picture = coloured(found.map, reach or 1.0, signed=False)
    _shown("saliency", picture, f"How much each pixel sways the score for {name}")
    note(
        f"The size of the score's gradient for {name} at each pixel of the picture, from 0 (white) "
        f"to {number(reach)} (dark red)."
    )
    download(partial(to_png, picture), "saliency.png", "Saliency as PNG", key="saliency")


def _shown(key: str, picture: np.ndarray, alt: str) -> None:
    frames([Frame(key, to_png(picture), alt, _WIDTH, smooth=key == "cam")], key=key)


def _without(model_input: ModelInput, spot: Spot) -> None:
    label(f"Channels of {spot.layer.name} switched off")
    if spot.of == "input":
        note("Channels are switched off in a layer's output; show the output above.")
        return
    count = len(spot.values)
    off = st.multiselect(
        "Channels",
        range(count),
        [spot.channel],
        key=f"off-{spot.layer.name}-{spot.channel}",
        placeholder="Choose channels",
        label_visibility="collapsed",
        help="Sets them to 0 in this layer's output and predicts again",
    )
    if not off:
        note("Choose channels to set to 0.")
        return
    found = results.without(model_input, spot.layer.name, tuple(sorted(off)))
    shown = top(found.scores_before, model_input.labels)
    first = top(found.scores_after, model_input.labels, 1)[0]
    entries = shown if first.index in [e.index for e in shown] else [*shown, first]
    before, after = found.probabilities_before, found.probabilities_after
    st.html(
        _bars(
            Bar(
                e.label,
                float(after[e.index]),
                f"{before[e.index]:.1%} → {after[e.index]:.1%}",
                float(before[e.index]),
            )
            for e in entries
        )
    )
    change = found.scores_after[shown[0].index] - found.scores_before[shown[0].index]
    note(f"The score of {shown[0].label} changes by {number(float(change))}. Lines: before.")


@dataclass(frozen=True)
class Bar:
    """A class with its share of 1; `before` is marked by a line."""

    name: str
    share: float
    text: str
    before: float | None = None


def _bars(bars: Iterable[Bar]) -> str:
    """Labels, bars and numbers in three columns; every text is escaped."""
    cells = (
        f"<span>{escape(bar.name)}</span>"
        f'<div><i style="width:{bar.share:.1%}"></i>{_line(bar.before)}</div>'
        f"<b>{escape(bar.text)}</b>"
        for bar in bars
    )
    return f'<div class="ax-map-bars">{"".join(cells)}</div>'


def _line(share: float | None) -> str:
    return "" if share is None else f'<u style="left:{min(share, 0.99):.1%}"></u>'
