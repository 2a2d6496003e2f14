"""Two inputs of one network side by side: what it predicts, and how each layer tells them apart."""

from __future__ import annotations

from functools import partial
from html import escape

import numpy as np
import streamlit as st

from explorer.trace.text import number
from explorer.ui.common.mounts import mount_plots
from explorer.ui.common.widgets import download, label, note
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.decision import doubt, is_doubtful
from explorer.ui.feature_maps.image_grid import GridImage, draw_image_grid
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Selection
from explorer.view.plot import Axis, Line, Plot
from explorer.vision import LayerDifference, Sweep, tile
from explorer.vision.drawing import to_png

#: Channels that are shown of a layer, CSS pixels of them together, and of a chart.
_CHANNELS, _WIDTH, _CHART = 8, 1100, 150
#: Most curves of classes, letters of a name in a legend.
_CURVES, _LETTERS = 4, 14
#: Whether a layer has been chosen in a chart and the page must run again.
_CHOSEN = "comparison.chosen"


def draw_predictions(first: ModelInput, second: ModelInput) -> None:
    """Say what the network predicts for each."""
    if not first.labels:
        return
    other = next((each for each in (first, second) if is_doubtful(each)), None)
    if other is not None:
        note(doubt(other))
    (a, *_), (b, *_) = results.prediction(first), results.prediction(second)
    texts = (f"{p.label} {p.probability:.1%}" for p in (a, b))
    before, after = (f"<b>{escape(text)}</b>" for text in texts)
    same = "The prediction stays" if a.index == b.index else "The prediction changes"
    st.html(f'<div class="ax-note">{same}: {before} → {after}</div>')


def draw_layer_chart(
    differences: tuple[LayerDifference, ...], selected: Selection, *, key: str, nested: bool
) -> None:
    """Draw the difference of every layer; a click selects the layer. In a fragment of its own,
    `nested` in that of the selection, the page then has to run again."""
    names = tuple(d.layer if not d.call else f"{d.layer}, call {d.call}" for d in differences)
    positions = np.arange(len(names))
    marked = [
        i
        for i, d in enumerate(differences)
        if (d.layer, d.call) == (selected.layer.name, selected.maps.call)
    ]

    def plot(title: str, values: list[float]) -> Plot:
        finite = [v for v in values if np.isfinite(v)]
        return Plot(
            Axis("layers, in the order in which they run", 0, max(len(names) - 1, 1), names=names),
            Axis(title, 0, 1.1 * max(finite, default=0) or 1.0),
            (Line(positions, values, dots=len(names) <= 30),),
            f"{title} of each layer's output for the two images",
            mark=marked[0] if marked else None,
            pointer=True,
        )

    def select(at: float) -> None:
        if at.is_integer() and 0 <= at < len(differences):
            chosen = differences[int(at)]
            if len(chosen.size) == 3:
                state = st.session_state
                state["layer"], state["call"], state[_CHOSEN] = chosen.layer, chosen.call, nested

    mount_plots(
        {
            "cosine": (plot("cosine distance", [d.cosine for d in differences]), _CHART),
            "relative": (plot("‖b − a‖ / ‖a‖", [d.relative for d in differences]), _CHART),
        },
        "",
        key=key,
        on_choose=select,
    )
    note(*_describe(differences))
    if st.session_state.pop(_CHOSEN, False):
        st.rerun()


def _describe(differences: tuple[LayerDifference, ...]) -> tuple[str, ...]:
    most = max(differences, key=lambda d: d.cosine)
    least = min(differences, key=lambda d: d.cosine)
    if not most.cosine and not most.relative:
        return ("No layer tells these images apart: their inputs are equal.",)
    return (
        f"{most.layer} tells the images apart most: its outputs have a cosine distance of "
        f"{number(most.cosine)}; those of {least.layer} differ least, with {number(least.cosine)}. "
        "Click a chart to select a layer.",
    )


def draw_channels_of_both(
    first: ModelInput, second: ModelInput, selected: Selection, *, key: str
) -> None:
    """Draw the channels of the selected layer that differ most: of both images, and the
    difference."""
    place = selected.layer.name, selected.of, selected.maps.call
    a, b = (results.maps(each, *place).activations[0] for each in (first, second))
    change = b - a
    order = np.argsort(-np.square(change).sum(axis=(1, 2)), kind="stable")[:_CHANNELS]
    stacked = np.concatenate([a, b, change])
    tilings = [
        tile(
            stacked,
            (order + k * len(a)).tolist(),
            columns=_CHANNELS,
            width=_WIDTH,
            numbered=False,
            mark_constant=False,
        )
        for k in range(3)
    ]
    label(f"Channels {', '.join(map(str, order))} of {selected.layer.name}")
    titles = ("First image (a)", "Second image (b)", "Difference (b − a)")
    draw_image_grid(
        [
            GridImage(
                f"{key}-{k}",
                tiling.png(),
                f"{title}: channels {', '.join(map(str, order))} of {selected.layer.name}",
                tiling.levels.shape[1],
                label=title,
            )
            for k, (title, tiling) in enumerate(zip(titles, tilings, strict=True))
        ],
        key=f"{key}-channels",
    )
    limit = number(tilings[0].ranges[0][1])
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        note(
            f"{_describe_choice(change)}, with one colour scale: blue = negative, white = 0, "
            f"red = positive (±{limit})."
        )
        rows = [tiling.rgb for tiling in tilings]
        download(
            partial(_stacked_png, rows), "channels.png", "These channels as PNG", key=f"{key}-both"
        )


def _describe_choice(change: np.ndarray) -> str:
    """Which channels are drawn."""
    if change.any():
        return "The channels that differ most"
    return "No channel differs; these are the first"


def _stacked_png(rows: list[np.ndarray]) -> bytes:
    return to_png(np.concatenate(rows))


def draw_score_curve(
    sweep: Sweep, labels: tuple[str, ...], x: Axis, at: float, *, scale: float = 1.0, key: str
) -> None:
    """Draw the probabilities of the classes that matter over the amounts, `at` one of them. The
    axis counts the amounts divided by `scale`."""
    probabilities = sweep.probabilities
    start = int(abs(sweep.amounts).argmin())
    matter = [int(probabilities[start].argmax())]
    often = np.argsort(-probabilities.max(axis=0), kind="stable").tolist()
    matter += [c for c in often if c not in matter][: _CURVES - 1]
    lines = tuple(
        Line(sweep.amounts / scale, probabilities[:, c], f"run-{i + 1}", labels[c][:_LETTERS])
        for i, c in reversed(list(enumerate(matter)))
    )
    names = ", ".join(labels[c] for c in matter)
    plot = Plot(
        x,
        Axis("probability", 0, 1),
        lines,
        f"Probabilities of {names} over {x.label}",
        mark=at,
        pointer=True,
    )
    mount_plots({"probability": (plot, 210)}, "", key=key)


def draw_pair(
    images: list[tuple[str, np.ndarray]], *, width: int, key: str, arrows: bool = True
) -> None:
    """Draw images (height × width × 3) with their labels in a row."""
    draw_image_grid(
        [
            GridImage(f"{key}-{i}", to_png(rgb), title, width, title, smooth=rgb.shape[1] > width)
            for i, (title, rgb) in enumerate(images)
        ],
        key=key,
        arrows=arrows,
    )
