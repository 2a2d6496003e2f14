"""Integrated gradients: what each pixel adds to the score of a class."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from explorer.trace.text import number
from explorer.ui.common.glossary import term_link
from explorer.ui.common.layout import columns
from explorer.ui.common.widgets import download, formula, label, note
from explorer.ui.feature_maps import comparison
from explorer.ui.feature_maps.long_run import await_run
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Selection
from explorer.ui.feature_maps.target_class import choose_class
from explorer.vision import IntegratedGradients
from explorer.vision.drawing import to_png
from explorer.vision.tiles import to_colours
from explorer.vision.transformations import make_baseline

_IMAGE = 288
_AUTOMATIC = "as needed"
_STEPS = [_AUTOMATIC, "16", "32", "64", "128", "256", "512"]
#: Single pixels may be far stronger than all others: the colours end where this share lies within.
_WITHIN = 99.0


def draw_integrated_gradients(model_input: ModelInput, selected: Selection) -> None:
    """Draw the attributions of a class, and that they add up to the change of its score."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        target, name = choose_class(model_input, "The class whose score is explained")
        baseline = choose_baseline()
        steps = st.selectbox(
            "Steps",
            _STEPS,
            key="steps",
            bind="query-params",
            width=130,
            help="Gradients along the way from the baseline to the image. As needed: until the "
            "attributions add up to the change of the score within 1 %",
        )
    result: IntegratedGradients | None = await_run(
        "integrated",
        model_input,
        "integrated_gradients",
        normalisation=model_input.loaded.backbone.normalisation,
        target=target,
        baseline=baseline,
        steps=int(steps) if steps in _STEPS[1:] else None,
    )
    if result is None:
        return
    left, right = columns(0.55, 0.45)
    with left:
        reach = float(np.percentile(abs(result.map), _WITHIN)) or float(abs(result.map).max())
        rgb = to_colours(result.map, reach or 1.0, signed=True)
        comparison.draw_pair(
            [
                ("Image (x)", model_input.prepared.rgb),
                (f"What each pixel adds to {name}", rgb),
            ],
            width=_IMAGE,
            key="integrated",
        )
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            note(
                f"Red pixels raise the score of {name}, blue ones lower it (±{number(reach)}; "
                f"{_WITHIN:g} % of the pixels lie within)."
            )
            download(
                partial(to_png, rgb), "integrated-gradients.png", "The map as PNG", key="integrated"
            )
    with right:
        _draw_sum(model_input, result, name)


def _draw_sum(model_input: ModelInput, result: IntegratedGradients, name: str) -> None:
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
    inputs = make_baseline(
        model_input.prepared.tensor, model_input.loaded.backbone.normalisation, result.baseline
    )
    rgb = model_input.loaded.backbone.normalisation.to_rgb(inputs[0])
    comparison.draw_pair([("Baseline (x′)", rgb)], width=96, key="baseline-image", arrows=False)


def choose_baseline() -> str:
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
