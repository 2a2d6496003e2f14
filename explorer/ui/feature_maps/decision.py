"""The prediction, and its tab: Grad-CAM, saliency, channels switched off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape

import numpy as np
import streamlit as st

from explorer.networks.image_networks import stated_accuracy
from explorer.trace.text import number
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.image_grid import GridImage, draw_image_grid
from explorer.ui.feature_maps.network_choice import (
    draw_offer,
    draw_suggestion,
    published_here,
    suggest_network,
)
from explorer.ui.feature_maps.results import ModelInput, ask, ask_or_reason
from explorer.ui.feature_maps.selection import Selection
from explorer.ui.widgets.basics import columns, download, label, note
from explorer.view.glossary import term_link
from explorer.vision import Prediction, grad_cam, saliency, switch_off, top
from explorer.vision.drawing import overlay_heat, to_png
from explorer.vision.tiles import to_colours

_WIDTH = 288
#: Classes in the line of the prediction, and the least probability of all but the first.
_IN_LINE, _LEAST = 4, 0.0005


def draw_prediction(model_input: ModelInput) -> None:
    """Draw the most likely classes as one line, and what the network can know of this image."""
    loaded, chosen = model_input.loaded, model_input.chosen
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="prediction"):
        if not model_input.labels and loaded.module:
            _say("Its output is not one score for each class, so there is no prediction.")
            return
        if not model_input.labels:
            _say("The filter bank's kernels are fixed formulas: it makes no prediction.")
            if chosen.kind == "photograph" and published_here() is None:
                draw_offer()
            return
        doubtful = is_doubtful(model_input)
        if doubtful and loaded.trained:
            _say(doubt(model_input))
        if loaded.trained:
            st.html(_line_of(likeliest(model_input), doubtful), width="content")
        if doubtful and loaded.trained and chosen.kind == "photograph":
            draw_suggestion(suggest_network(chosen))
        elif loaded.knows_drawings_only:
            _say(
                f"Trained on drawings of {len(model_input.labels)} shapes and textures; it "
                f"recognises {stated_accuracy():.1%} of new drawings."
            )
        if not loaded.trained:
            st.warning(
                "**Untrained.** The weights are random: the maps show the architecture, not "
                "anything learned.",
                icon=":material/warning:",
            )


def likeliest(model_input: ModelInput) -> list[Prediction]:
    """The classes in the line of the prediction."""
    first, *others = results.prediction(model_input)[:_IN_LINE]
    return [first, *(entry for entry in others if entry.probability >= _LEAST)]


def _say(sentence: str) -> None:
    """A quiet sentence in a line, as wide as it is."""
    st.html(f'<div class="ax-note">{escape(sentence)}</div>', width="content")


def is_doubtful(model_input: ModelInput) -> bool:
    """Whether the weights are random, or the network knows only drawings and this is none."""
    loaded = model_input.loaded
    return not loaded.trained or (
        loaded.knows_drawings_only and model_input.chosen.kind != "drawing"
    )


def doubt(model_input: ModelInput) -> str:
    """What the prediction is worth of random weights, or of drawings alone for another image."""
    if not model_input.loaded.trained:
        return "The weights of this network are random, so its prediction means nothing."
    others = "a photograph" if model_input.chosen.kind == "photograph" else "any other image"
    return (
        f"This network knows only drawings of {len(model_input.labels)} shapes and textures; its "
        f"answer for {others} means nothing."
    )


def _line_of(best: Sequence[Prediction], doubtful: bool) -> str:
    """The first class with a bar, and the next ones; every text is escaped."""
    first, *others = best
    parts = [
        f'<b>{escape(first.label)}</b><div class="ax-map-share">'
        f'<i style="width:{first.probability:.1%}"></i></div><span>{first.probability:.1%}</span>'
    ]
    parts += [f"<span>{escape(e.label)} {e.probability:.1%}</span>" for e in others]
    return f'<div class="ax-map-line{" ax-map-doubtful" * doubtful}">{"".join(parts)}</div>'


def draw_decision(model_input: ModelInput, selected: Selection) -> None:
    """Draw the five most likely classes, Grad-CAM and saliency for one of them, and the prediction
    without some channels."""
    best = results.prediction(model_input)
    if is_doubtful(model_input):
        note(doubt(model_input))
    left, right = columns(1, 2)
    with left:
        target, name = choose_class(model_input, "The class that Grad-CAM and saliency explain")
    with right:
        st.html(_bars(Bar(e.label, e.probability, f"{e.probability:.1%}") for e in best))
    left, middle, right = columns(1, 1, 1)
    with left:
        _draw_cam(model_input, selected, target, name)
    with middle:
        _draw_saliency(model_input, target, name)
    with right:
        _draw_without(model_input, selected)


def choose_class(model_input: ModelInput, help: str) -> tuple[int, str]:
    """Draw the list of the five most likely classes; the index and the name of the chosen one."""
    names = {entry.index: entry.label for entry in results.prediction(model_input)}
    if st.session_state.get("class", next(iter(names))) not in names:
        st.session_state["class"] = next(iter(names))
    target = st.selectbox(
        "Class",
        list(names),
        format_func=lambda index: names.get(index, str(index)),
        key="class",
        bind="query-params",
        width=300,
        help=f"{help}, among the five most likely",
    )
    return target, names[target]


def _draw_cam(model_input: ModelInput, selected: Selection, target: int, name: str) -> None:
    label(term_link("grad_cam"), f" of {selected.layer.name}")
    layer, call = selected.layer.name, selected.maps.call
    cam = ask_or_reason(model_input, grad_cam, layer=layer, target=target, call=call)
    if isinstance(cam, str):
        note(cam)
        return
    overlay = overlay_heat(model_input.prepared.rgb, cam.over_input)
    _draw_image("cam", overlay, f"Where in {selected.layer.name} the evidence for {name} lies")
    note(
        f"The layer's maps, weighted by the mean gradient of the score for {name}; negative "
        "values are set to 0. Usually clearest in the last layers."
        if cam.map.any()
        else f"Nothing in this layer is evidence for {name}: the map is 0 everywhere."
    )
    download(partial(to_png, overlay), "grad-cam.png", "Grad-CAM as PNG", key="cam")


def _draw_saliency(model_input: ModelInput, target: int, name: str) -> None:
    label(term_link("saliency"))
    found = ask_or_reason(model_input, saliency, target=target)
    if isinstance(found, str):
        note(found)
        return
    reach = float(found.map.max())
    rgb = to_colours(found.map, reach or 1.0, signed=False)
    _draw_image("saliency", rgb, f"How much each pixel influences the score for {name}")
    note(
        f"The size of the gradient of the score for {name} at each pixel of the input, "
        f"from 0 (white) to {number(reach)} (dark red)."
    )
    download(partial(to_png, rgb), "saliency.png", "Saliency as PNG", key="saliency")


def _draw_image(key: str, rgb: np.ndarray, alt: str) -> None:
    draw_image_grid([GridImage(key, to_png(rgb), alt, _WIDTH, smooth=key == "cam")], key=key)


def _draw_without(model_input: ModelInput, selected: Selection) -> None:
    label(f"Channels of {selected.layer.name} switched off")
    if selected.of == "input":
        note("Channels are switched off in a layer's output. Choose “output” above.")
        return
    count = len(selected.values)
    off = st.multiselect(
        "Channels",
        range(count),
        [selected.channel],
        key=f"off-{selected.layer.name}-{selected.channel}",
        placeholder="Choose channels",
        label_visibility="collapsed",
        help="Sets these channels to 0 in this layer's output and predicts again",
    )
    if not off:
        note("Choose the channels to set to 0.")
        return
    channels = tuple(sorted(off))
    switched = ask(model_input, switch_off, layer=selected.layer.name, channels=channels)
    most_likely = top(switched.scores_before, model_input.labels)
    first = top(switched.scores_after, model_input.labels, 1)[0]
    known = first.index in [entry.index for entry in most_likely]
    entries = most_likely if known else [*most_likely, first]
    before, after = switched.probabilities_before, switched.probabilities_after
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
    change = (
        switched.scores_after[most_likely[0].index] - switched.scores_before[most_likely[0].index]
    )
    note(
        f"The score of {most_likely[0].label} changes by {number(float(change))}. "
        "Orange lines mark the probabilities before that."
    )


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
