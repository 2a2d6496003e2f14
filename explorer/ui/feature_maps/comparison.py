"""Two inputs of one network side by side: the image, and another or the same after a change.

What the network predicts for both, and how each layer tells them apart.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape

import numpy as np
import streamlit as st

from explorer.trace.text import number
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.decision import doubt, is_doubtful
from explorer.ui.feature_maps.image_choice import choose_second_image
from explorer.ui.feature_maps.image_grid import GridImage, draw_image_grid, draw_images
from explorer.ui.feature_maps.live_slider import draw_live_slider
from explorer.ui.feature_maps.results import ModelInput, ask, await_run
from explorer.ui.feature_maps.selection import Selection, pick_layer
from explorer.ui.widgets.basics import columns, download, label, note, whole
from explorer.ui.widgets.mounts import mount_plots
from explorer.view.plot import Axis, Line, Plot
from explorer.vision import (
    TRANSFORMATIONS,
    LayerDifference,
    Prediction,
    Sweep,
    layer_differences,
    sweep,
    tile,
    transform,
)
from explorer.vision.drawing import side_by_side, to_png

#: CSS pixels of an image, and of a chart; how many amounts a curve has.
_IMAGE, _CHART, _AMOUNTS = 190, 150, 41
#: Channels that are shown of a layer, and CSS pixels of them together.
_CHANNELS, _WIDTH = 8, 1100
#: Curves of classes, and letters of a name in a legend.
_CURVES, _LETTERS = 4, 14
#: Whether a layer has been chosen in a chart and the page must run again.
_CHOSEN = "comparison.chosen"
#: For each transformation: how a sentence begins with it, and what its slider sets.
_CHANGES = {
    "turn": (
        "Turned by",
        "How far the image is turned counterclockwise, in degrees; its edge is repeated",
    ),
    "shift": (
        "Shifted by",
        "How far the image moves to the right, as a share of its width; its edge is repeated",
    ),
    "blur": (
        "Blurred by",
        "The standard deviation of the Gaussian blur, as a share of the image's longer side",
    ),
    "brightness": (
        "With its brightness changed by",
        "Every pixel times 1 + this share, limited to white; −100 % is black",
    ),
    "noise": (
        "With noise of",
        "The standard deviation of the noise added to every pixel, as a share of white",
    ),
}
_NAMES = {offered.title: name for name, offered in TRANSFORMATIONS.items()}


def draw_two_images(model_input: ModelInput, selected: Selection) -> None:
    """Draw the choice of the second image, both images, and how each layer tells them apart."""
    left, right = columns(0.42, 0.58)
    with left:
        second = results.with_image(model_input, choose_second_image())
        _draw_both(model_input, second, "Second (b)", file="images.png", key="two", arrows=False)
    with right:
        differences = ask(model_input, layer_differences, second=second)
        draw_layer_chart(differences, selected, key="two-layers", nested=False)
    _draw_channels_of_both(model_input, second, selected, key="two")


@st.fragment
def draw_changed_image(model_input: ModelInput, selected: Selection) -> None:
    """Draw a slider that changes the image, and what follows it: both images, the prediction over
    all amounts, and how each layer tells them apart."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        title = st.segmented_control(
            "Change",
            list(_NAMES),
            default=next(iter(_NAMES)),
            required=True,
            key="change",
            bind="query-params",
            help="What the slider does to the image before the network gets it",
        )
        name = _NAMES.get(str(title), next(iter(TRANSFORMATIONS)))
        offered = TRANSFORMATIONS[name]
        seed = 0
        if offered.random:
            seed = whole("Seed", "seed", 0, 999, start=0, help="Another seed, other noise") or 0
    left, right = columns(0.42, 0.58)
    with left:
        amount = draw_live_slider(
            offered.title,
            "amount",
            offered.low,
            offered.high,
            offered.step,
            0.0,
            unit=f" {offered.unit}" if offered.unit == "%" else offered.unit,
            help=_CHANGES[name][1],
        )
        changed = _changed(model_input, name, amount, seed)
        _draw_both(model_input, changed, "Changed (b)", file="changed.png", key="changed")
    with right:
        if model_input.labels:
            _draw_curve(model_input, name, amount, seed)
        else:
            note("This network has no classes, so there is no curve of a prediction.")
    differences = ask(model_input, layer_differences, second=changed)
    draw_layer_chart(differences, selected, key="changed-layers", nested=True)
    _draw_channels_of_both(model_input, changed, selected, key="changed")


def _changed(model_input: ModelInput, name: str, amount: float, seed: int) -> ModelInput:
    """The same network with the changed image as its input."""
    normalisation, chosen = model_input.normalisation, model_input.chosen
    tensor = transform(model_input.prepared.tensor, normalisation, name, amount, seed)
    return replace(
        model_input,
        chosen=replace(chosen, digest=f"{chosen.digest} {name} {amount} {seed}"),
        prepared=replace(
            model_input.prepared, values=tensor.numpy(), rgb=normalisation.to_rgb(tensor[0])
        ),
    )


def _draw_curve(model_input: ModelInput, name: str, amount: float, seed: int) -> None:
    offered = TRANSFORMATIONS[name]
    every = max(1, round((offered.high - offered.low) / offered.step / (_AMOUNTS - 1)))
    amounts = np.arange(offered.low, offered.high + offered.step / 2, every * offered.step)
    swept = await_run(
        model_input,
        sweep,
        normalisation=model_input.normalisation,
        transformation=name,
        amounts=tuple(float(f"{a:g}") for a in amounts),
        seed=seed,
    )
    if swept is None:
        return
    axis = Axis(f"{offered.title.lower()}, {offered.unit}", offered.low, offered.high)
    draw_score_curve(swept, model_input.labels, axis, amount, key="sweep")
    if model_input.loaded.trained:
        note(_describe_range(name, swept, model_input.labels))


def _describe_range(name: str, swept: Sweep, labels: tuple[str, ...]) -> str:
    """How far the amount can go until the prediction is another."""
    amounts, classes, unit = swept.amounts, swept.classes, TRANSFORMATIONS[name].unit
    start = int(abs(amounts).argmin())
    same = classes == classes[start]
    above = np.flatnonzero(~same[start:])
    below = np.flatnonzero(~same[: start + 1][::-1])
    ends = [
        f"{amounts[start + sign * int(steps[0])]:g} {unit}".replace("-", "−").replace(" °", "°")
        for sign, steps in ((-1, below), (1, above))
        if len(steps)
    ]
    if not ends:
        return f"It is recognised as {labels[classes[start]]} over the whole range."
    changed = f"{_CHANGES[name][0]} {' or '.join(ends)}"
    return f"{changed}, it is no longer recognised as {labels[classes[start]]}."


def _draw_both(
    first: ModelInput, second: ModelInput, title: str, *, file: str, key: str, arrows: bool = True
) -> None:
    """Draw both images, and what the network predicts for each."""
    images = [("Image (a)", first.prepared.rgb), (title, second.prepared.rgb)]
    draw_images(images, width=_IMAGE, key=key, arrows=arrows)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _draw_predictions(first, second)
        rgbs = [rgb for _, rgb in images]
        download(lambda: to_png(side_by_side(rgbs)), file, "Both images as PNG", key=key)


def _draw_predictions(first: ModelInput, second: ModelInput) -> None:
    if not first.labels:
        return
    other = next((each for each in (first, second) if is_doubtful(each)), None)
    if other is not None:
        note(doubt(other))
    (a, *_), (b, *_) = results.prediction(first), results.prediction(second)
    st.html(f'<div class="ax-note">{describe_change(a, b)}</div>')


def describe_change(a: Prediction, b: Prediction) -> str:
    """Whether the prediction is another; escaped."""
    before, after = (f"<b>{escape(f'{p.label} {p.probability:.1%}')}</b>" for p in (a, b))
    same = "The prediction stays" if a.index == b.index else "The prediction changes"
    return f"{same}: {before} → {after}"


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
                pick_layer(chosen.layer, chosen.call)
                st.session_state[_CHOSEN] = nested

    mount_plots(
        {
            "cosine": (plot("cosine distance", [d.cosine for d in differences]), _CHART),
            "relative": (plot("‖b − a‖ / ‖a‖", [d.relative for d in differences]), _CHART),
        },
        "",
        key=key,
        on_choose=select,
    )
    note(*_describe_differences(differences))
    if st.session_state.pop(_CHOSEN, False):
        st.rerun()


def _describe_differences(differences: tuple[LayerDifference, ...]) -> tuple[str, ...]:
    most = max(differences, key=lambda d: d.cosine)
    least = min(differences, key=lambda d: d.cosine)
    if not most.cosine and not most.relative:
        return ("No layer tells these images apart: their inputs are equal.",)
    return (
        f"{most.layer} tells the images apart most: its outputs have a cosine distance of "
        f"{number(most.cosine)}; those of {least.layer} differ least, with {number(least.cosine)}. "
        "Click a chart to select a layer.",
    )


def _draw_channels_of_both(
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
            lambda: to_png(np.concatenate(rows)),
            "channels.png",
            "These channels as PNG",
            key=f"{key}-both",
        )


def _describe_choice(change: np.ndarray) -> str:
    """Which channels are drawn."""
    if change.any():
        return "The channels that differ most"
    return "No channel differs; these are the first"


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
