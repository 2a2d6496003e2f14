"""The tabs of the Feature maps page, and the ways to look at an image in the last one: a title, and
the function that draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from explorer.ui.feature_maps.adversarial import draw_adversarial
from explorer.ui.feature_maps.channels import draw_channels, draw_kernels, draw_statistics
from explorer.ui.feature_maps.comparison import draw_changed_image, draw_two_images
from explorer.ui.feature_maps.decision import draw_decision
from explorer.ui.feature_maps.explanations import draw_integrated_gradients, draw_occlusion
from explorer.ui.feature_maps.results import ModelInput, leave_long_run
from explorer.ui.feature_maps.selection import Selection
from explorer.ui.widgets.basics import choice, note, reported

#: In the session: the way to look that is on the page.
_DRAWN = "look-drawn"


@dataclass(frozen=True)
class Look:
    """One way to look; `classes` says whether it explains a prediction, and so needs one."""

    draw: Callable[[ModelInput, Selection], None]
    classes: bool = False


#: What is needed less often, one of them at a time. The titles are part of links.
LOOKS = {
    "Change the image": Look(draw_changed_image),
    "Two images": Look(draw_two_images),
    "Occlusion": Look(draw_occlusion, classes=True),
    "Integrated gradients": Look(draw_integrated_gradients, classes=True),
    "Adversarial step": Look(draw_adversarial, classes=True),
}


def draw_more(model_input: ModelInput, selected: Selection) -> None:
    """Draw the choice of a way to look, and the chosen one."""
    options = [title for title, look in LOOKS.items() if model_input.labels or not look.classes]
    if st.session_state.get("look") not in [None, *options]:
        del st.session_state["look"]
    chosen = choice("Way to look", "look", options, "What to do with the image or the network")
    if not model_input.labels:
        note(
            "Occlusion, integrated gradients and the adversarial step explain a prediction. "
            "This network makes none."
        )
    if st.session_state.setdefault(_DRAWN, chosen) != chosen:
        st.session_state[_DRAWN] = chosen
        leave_long_run()
        # Streamlit leaves a fragment of the last look where it is, unless the whole page runs.
        st.rerun()
    with reported(model_input.loaded.module):
        LOOKS[chosen].draw(model_input, selected)


#: In the order on the page. The titles are part of links.
TABS: dict[str, Callable[[ModelInput, Selection], None]] = {
    "Channels": draw_channels,
    "Kernels": draw_kernels,
    "Statistics": draw_statistics,
    "Prediction": draw_decision,
    "More": draw_more,
}


def tab_titles(model_input: ModelInput) -> list[str]:
    """The tabs for this network: without Prediction if it has no classes."""
    return [title for title in TABS if model_input.labels or title != "Prediction"]
