"""The adversarial step: the image moved against the network, as an optimizer moves weights."""

from __future__ import annotations

from html import escape

import numpy as np
import streamlit as st
import torch

from explorer.trace.text import number
from explorer.ui.feature_maps.comparison import describe_change, draw_score_curve
from explorer.ui.feature_maps.image_grid import draw_images
from explorer.ui.feature_maps.live_slider import draw_live_slider
from explorer.ui.feature_maps.results import ModelInput, ask_or_reason, await_run
from explorer.ui.feature_maps.selection import Selection
from explorer.ui.widgets.basics import choice, columns, download, formula, label, note, scrolling
from explorer.view.glossary import term_link
from explorer.view.plot import Axis
from explorer.vision import AdversarialStep, Normalisation, adversarial_step, epsilon_sweep, top
from explorer.vision.drawing import side_by_side, to_png
from explorer.vision.tiles import to_colours

#: ε in units of 1/255, one level of an 8-bit image.
_LOW, _HIGH, _STEP, _START, _LEVELS = 0.0, 32.0, 0.5, 4.0, 255
_IMAGE, _PIXELS = 190, 4
#: The number of steps by the choice.
_METHODS = {"1 step (FGSM)": 1, "10 steps (PGD)": 10}


@st.fragment
def draw_adversarial(model_input: ModelInput, selected: Selection) -> None:
    """Draw the slider of ε, the image before and after, and the arithmetic of a few pixels."""
    method = choice(
        "Method", "method", list(_METHODS), "One step of size ε, or ten smaller ones within ε"
    )
    left, right = columns(0.55, 0.45)
    with left:
        epsilon = draw_live_slider(
            "ε",
            "epsilon",
            _LOW,
            _HIGH,
            _STEP,
            _START,
            unit=" / 255",
            help="By how much each colour of each pixel changes, in levels of an 8-bit image",
        )
        step = ask_or_reason(
            model_input,
            adversarial_step,
            normalisation=model_input.normalisation,
            epsilon=epsilon / _LEVELS,
            steps=_METHODS[method],
        )
        if isinstance(step, str):
            note(step)
            return
        _draw_images(step)
        _draw_prediction(step, model_input.labels)
    with right:
        _draw_curve(model_input, epsilon)
    _draw_arithmetic(step)


def _draw_images(step: AdversarialStep) -> None:
    before, after = (
        Normalisation().to_rgb(torch.from_numpy(pixels)) for pixels in (step.before, step.after)
    )
    change = step.change.mean(axis=0)
    reach = step.epsilon or 1.0
    magnified = to_colours(change, reach, signed=True)
    images = [
        ("Image (x)", before),
        ("Change, magnified", magnified),
        ("Changed (x′)", after),
    ]
    draw_images(images, width=_IMAGE, key="adversarial")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        note(
            f"Red pixels become brighter, blue ones darker, by at most "
            f"{step.epsilon * _LEVELS:g} of {_LEVELS} levels (mean over the colours)."
        )
        download(
            lambda: to_png(side_by_side([rgb for _, rgb in images])),
            "adversarial.png",
            "The three images as PNG",
            key="adversarial",
        )


def _draw_prediction(step: AdversarialStep, labels: tuple[str, ...]) -> None:
    (before,), (after,) = (top(s, labels, 1) for s in (step.scores_before, step.scores_after))
    st.html(
        f'<div class="ax-note">{describe_change(before, after)}. '
        f"The loss of {escape(labels[step.target])} goes from {number(step.loss_before)} to "
        f"{number(step.loss_after)}.</div>"
    )


def _draw_curve(model_input: ModelInput, epsilon: float) -> None:
    epsilons = np.arange(_LOW, _HIGH + _STEP / 2, _STEP)
    sweep = await_run(
        model_input,
        epsilon_sweep,
        normalisation=model_input.normalisation,
        epsilons=tuple((epsilons / _LEVELS).tolist()),
    )
    if sweep is None:
        return
    axis = Axis("ε of one step, in 1/255", _LOW, _HIGH)
    draw_score_curve(sweep, model_input.labels, axis, epsilon, scale=1 / _LEVELS, key="epsilons")
    another = np.flatnonzero(sweep.classes != sweep.classes[0])
    first = model_input.labels[sweep.classes[0]]
    if not len(another):
        note(f"One step of up to {_HIGH:g}/255 does not change the prediction {first}.")
        return
    at = int(another[0])
    note(
        f"The smallest ε tried that changes the prediction is {epsilons[at]:g}/255: {first} "
        f"becomes {model_input.labels[sweep.classes[at]]}."
    )


def _draw_arithmetic(step: AdversarialStep) -> None:
    """The update of the pixels with the largest gradients, in levels."""
    label("The ", term_link("adversarial", "adversarial step"), " of a few pixels")
    formula(
        r"x' = x + \varepsilon \cdot \operatorname{sign}\frac{\partial L}{\partial x}, \qquad "
        r"\text{limited to } 0 \ldots 1"
    )
    gradient = step.gradient.reshape(-1)
    shown = np.argsort(-abs(gradient), kind="stable")[:_PIXELS]
    rows = "".join(_row(step, int(i)) for i in shown)
    heads = ("row, column, colour", "∂L/∂x", "x · 255", "ε · sign · 255", "sum", "x′ · 255")
    head = "".join(f"<th>{text}</th>" for text in heads)
    st.html(
        scrolling(
            f'<table class="ax-table"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>',
            "The adversarial step of a few pixels",
        )
    )
    note(
        "These pixels have the largest gradients. SGD subtracts the gradient from the weights to "
        "lower the loss; here only its sign is used, and it is added to the image to raise the "
        "loss."
        if step.steps == 1
        else "The sum is that of all ten steps, limited to ε from the image. ∂L/∂x is the gradient "
        "of the first step; later ones may have another sign."
    )


def _row(step: AdversarialStep, index: int) -> str:
    channel, row, column = np.unravel_index(index, step.gradient.shape)
    colour = ("red", "green", "blue")[channel] if len(step.gradient) == 3 else f"channel {channel}"
    before, moved, after = (
        float(values[channel, row, column]) * _LEVELS
        for values in (step.before, step.moved, step.after)
    )
    slope = float(step.gradient[channel, row, column])
    cells = (
        f"{row}, {column}, {colour}",
        number(slope),
        f"{before:.1f}",
        f"{moved - before:+.1f}",
        f"{moved:.1f}",
        f"{after:.1f}",
    )
    return "<tr>" + "".join(f"<td>{escape(c).replace('-', '−')}</td>" for c in cells) + "</tr>"
