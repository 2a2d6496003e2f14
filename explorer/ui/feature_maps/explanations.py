"""What the score of a class needs: occlusion covers one part of the image after the other, and
integrated gradients say what each pixel adds."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from explorer.trace.text import number
from explorer.ui.feature_maps.decision import choose_class
from explorer.ui.feature_maps.image_grid import draw_images
from explorer.ui.feature_maps.results import ModelInput, await_run
from explorer.ui.feature_maps.selection import Selection
from explorer.ui.widgets.basics import columns, download, formula, label, note
from explorer.view.glossary import term_link
from explorer.vision import IntegratedGradients, Occlusion, integrated_gradients, occlusion
from explorer.vision.drawing import to_png
from explorer.vision.occlusion import positions
from explorer.vision.tiles import to_colours
from explorer.vision.transformations import make_baseline

_IMAGE = 288
#: Shares of the image's shorter side that the window of occlusion may have.
_SIZES = ("1/16", "1/8", "1/4", "1/2")
#: In larger images a small window means many runs of a network that is slow already.
_SMALL = 96
_STEPS = ["as needed", "16", "32", "64", "128", "256", "512"]
#: Single pixels may be far stronger than all others: the colours end where this share lies within.
_WITHIN = 99.0


def draw_occlusion(model_input: ModelInput, selected: Selection) -> None:
    """Draw the occlusion map of a class beside the image."""
    side = min(model_input.prepared.rgb.shape[:2])
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        target, name = choose_class(model_input, "The class whose score is explained")
        baseline = _choose_baseline()
        size = st.selectbox(
            "Window",
            _SIZES,
            _SIZES.index("1/8" if side <= _SMALL else "1/4"),
            key="window",
            bind="query-params",
            width=130,
            help="The side of the square that covers the image, as a share of the image's",
        )
    window = max(1, side // int((size if size in _SIZES else "1/4").partition("/")[2]))
    result = await_run(
        model_input,
        occlusion,
        normalisation=model_input.normalisation,
        target=target,
        window=window,
        baseline=baseline,
    )
    if result is None:
        return
    reach = float(abs(result.map).max())
    left, right = columns(0.55, 0.45)
    with left:
        titles = "Image", f"How much {name} needs each pixel"
        words = (
            f"Red: covering it lowers the score of {name}; blue: it raises the score "
            f"(±{number(reach)})."
        )
        _draw_map(model_input, result.map, reach, titles, words, key="occlusion")
    with right:
        _draw_facts(model_input, result, name)


def _draw_facts(model_input: ModelInput, result: Occlusion, name: str) -> None:
    height, width = model_input.prepared.rgb.shape[:2]
    label(term_link("occlusion"))
    row, column = np.unravel_index(result.map.argmax(), result.map.shape)
    st.html(
        '<div class="ax-map-facts">'
        f"<span>score of {name}</span><b>{number(result.score)}</b>"
        f"<span>largest mean drop</span><b>{number(float(result.map.max()))} at row {row}, "
        f"column {column}</b>"
        f"<span>window, stride</span><b>{result.window} × {result.window}, {result.stride}</b>"
        "<span>positions of the window</span>"
        f"<b>{positions((height, width), result.window, result.stride)}</b></div>"
    )
    cover = "black" if result.baseline == "black" else "the blurred image"
    note(
        f"A square of {cover} is slid over the image, and the network runs at each position. A "
        "pixel's value is the mean drop of the score over all squares that cover it."
    )


def draw_integrated_gradients(model_input: ModelInput, selected: Selection) -> None:
    """Draw the attributions of a class, and that they add up to the change of its score."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        target, name = choose_class(model_input, "The class whose score is explained")
        baseline = _choose_baseline()
        steps = st.selectbox(
            "Steps",
            _STEPS,
            key="steps",
            bind="query-params",
            width=130,
            help="Gradients along the way from the baseline to the image. As needed: until the "
            "attributions add up to the change of the score within 1 %",
        )
    result = await_run(
        model_input,
        integrated_gradients,
        normalisation=model_input.normalisation,
        target=target,
        baseline=baseline,
        steps=int(steps) if steps in _STEPS[1:] else None,
    )
    if result is None:
        return
    reach = float(np.percentile(abs(result.map), _WITHIN)) or float(abs(result.map).max())
    left, right = columns(0.55, 0.45)
    with left:
        titles = "Image (x)", f"What each pixel adds to {name}"
        words = (
            f"Red pixels raise the score of {name}, blue ones lower it (±{number(reach)}; "
            f"{_WITHIN:g} % of the pixels lie within)."
        )
        _draw_map(model_input, result.map, reach, titles, words, key="integrated-gradients")
    with right:
        _draw_sum(model_input, result)


def _draw_sum(model_input: ModelInput, result: IntegratedGradients) -> None:
    label(term_link("integrated_gradients"))
    formula(
        r"a_i = (x_i - x'_i)\int_0^1 \frac{\partial f(x' + \alpha\,(x - x'))}{\partial x_i}\,"
        r"d\alpha, \qquad \sum_i a_i = f(x) - f(x')"
    )
    st.html(
        '<div class="ax-map-facts">'
        f"<span>f(x), the score of the image</span><b>{number(result.score)}</b>"
        f"<span>f(x′), the score of the baseline</span><b>{number(result.baseline_score)}</b>"
        f"<span>f(x) − f(x′)</span><b>{number(result.change)}</b>"
        f'<span>sum of all attributions</span><b class="ax-map-total">sum {result.sum:.3g} of '
        f"{result.change:.3g}</b>"
        f"<span>steps</span><b>{result.steps}</b></div>"
    )
    missing = abs(result.sum - result.change)
    share = missing / abs(result.change) if result.change else 0.0
    note(
        f"The two differ by {share:.1%}."
        if share <= 0.01
        else f"The two differ by {share:.1%}: more steps bring them closer."
    )
    normalisation = model_input.normalisation
    inputs = make_baseline(model_input.prepared.tensor, normalisation, result.baseline)
    baseline = ("Baseline (x′)", normalisation.to_rgb(inputs[0]))
    draw_images([baseline], width=96, key="baseline-image", arrows=False)


def _choose_baseline() -> str:
    """Draw the choice of the image that shows nothing."""
    options = ["black", "blurred"]
    chosen = st.segmented_control(
        "Baseline",
        options,
        default=options[0],
        required=True,
        key="baseline",
        bind="query-params",
        help="What stands for an image without evidence",
    )
    return chosen if chosen in options else options[0]


def _draw_map(
    model_input: ModelInput,
    values: np.ndarray,
    reach: float,
    titles: tuple[str, str],
    words: str,
    *,
    key: str,
) -> None:
    """Draw the image and, in colours that end at `reach`, what was found for each of its pixels."""
    rgb = to_colours(values, reach or 1.0, signed=True)
    shown = zip(titles, (model_input.prepared.rgb, rgb), strict=True)
    draw_images(list(shown), width=_IMAGE, key=key)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        note(words)
        download(partial(to_png, rgb), f"{key}.png", "The map as PNG", key=key)
