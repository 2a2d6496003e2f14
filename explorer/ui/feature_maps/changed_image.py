"""Change the image: a slider turns, shifts, blurs, brightens or adds noise, and the page shows what
that changes in the network."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
import torch

from explorer.ui.common.widgets import columns, download, note, whole
from explorer.ui.feature_maps import comparison, results
from explorer.ui.feature_maps.live_slider import draw_live_slider
from explorer.ui.feature_maps.long_run import await_run
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Selection
from explorer.view.plot import Axis
from explorer.vision import TRANSFORMATIONS, transform
from explorer.vision.drawing import side_by_side, to_png

#: How many amounts the curve has, and CSS pixels of an image.
_AMOUNTS, _IMAGE = 41, 190
_KINDS = {t.title: name for name, t in TRANSFORMATIONS.items()}


@st.fragment
def draw_changed_image(model_input: ModelInput, selected: Selection) -> None:
    """Draw the slider, and the image and the network's layers as they follow it."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        title = st.segmented_control(
            "Change",
            list(_KINDS),
            default=next(iter(_KINDS)),
            required=True,
            key="change",
            bind="query-params",
            help="What the slider does to the image before the network gets it",
        )
        name = _KINDS.get(str(title), next(iter(TRANSFORMATIONS)))
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
            help=_HELP[name],
        )
        changed = change(model_input, name, amount, seed)
        images = [("Image (a)", model_input.prepared.rgb), ("Changed (b)", changed.prepared.rgb)]
        comparison.draw_pair(images, width=_IMAGE, key="changed")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            comparison.draw_predictions(model_input, changed)
            download(partial(_pair_png, images), "changed.png", "Both images as PNG", key="changed")
    with right:
        if model_input.labels:
            _draw_curve(model_input, name, amount, seed)
        else:
            note("This network has no classes, so there is no curve of a prediction.")
    differences = results.differences(model_input, changed)
    comparison.draw_layer_chart(differences, selected, key="changed-layers", nested=True)
    comparison.draw_channels_of_both(model_input, changed, selected, key="changed")


_HELP = {
    "turn": "How far the image is turned counterclockwise, in degrees; its edge is repeated",
    "shift": "How far the image moves to the right, as a share of its width; its edge is repeated",
    "blur": "The standard deviation of the Gaussian blur, as a share of the image's longer side",
    "brightness": "Every pixel times 1 + this share, limited to white; −100 % is black",
    "noise": "The standard deviation of the noise added to every pixel, as a share of white",
}


def change(model_input: ModelInput, name: str, amount: float, seed: int) -> ModelInput:
    """The same network with the changed image as its input."""
    normalisation = model_input.loaded.backbone.normalisation
    tensor = transform(model_input.prepared.tensor, normalisation, name, amount, seed)
    return with_input(model_input, tensor, f"{name} {amount} {seed}")


def with_input(model_input: ModelInput, tensor: torch.Tensor, what: str) -> ModelInput:
    """The same network with another input (1 × 3 × height × width); `what` says how it was made."""
    rgb = model_input.loaded.backbone.normalisation.to_rgb(tensor[0])
    chosen = model_input.chosen
    return replace(
        model_input,
        chosen=replace(chosen, digest=f"{chosen.digest} {what}"),
        prepared=replace(model_input.prepared, values=tensor.numpy(), rgb=rgb),
    )


def _draw_curve(model_input: ModelInput, name: str, amount: float, seed: int) -> None:
    offered = TRANSFORMATIONS[name]
    every = max(1, round((offered.high - offered.low) / offered.step / (_AMOUNTS - 1)))
    amounts = np.arange(offered.low, offered.high + offered.step / 2, every * offered.step)
    sweep = await_run(
        "sweep",
        model_input,
        "sweep",
        normalisation=model_input.loaded.backbone.normalisation,
        transformation=name,
        amounts=tuple(float(f"{a:g}") for a in amounts),
        seed=seed,
    )
    if sweep is None:
        return
    axis = Axis(f"{offered.title.lower()}, {offered.unit}", offered.low, offered.high)
    comparison.draw_score_curve(sweep, model_input.labels, axis, amount, key="sweep")
    if model_input.loaded.trained:
        note(_describe(sweep.amounts, sweep.classes, offered.unit, model_input.labels))


def _describe(amounts: np.ndarray, classes: np.ndarray, unit: str, labels: tuple[str, ...]) -> str:
    """How far the amount can go until the prediction is another."""
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
    return f"At {' or '.join(ends)}, it is no longer recognised as {labels[classes[start]]}."


def _pair_png(images: list[tuple[str, np.ndarray]]) -> bytes:
    return to_png(side_by_side([rgb for _, rgb in images]))
