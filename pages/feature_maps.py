"""The Feature maps page: an image in, and what each layer of a network sees in it."""

import streamlit as st

from explorer.ui.common.frame import draw_frame
from explorer.ui.common.layout import apply_styles, columns
from explorer.ui.feature_maps import (
    channels,
    decision,
    filmstrip,
    kernels,
    network,
    picture,
    pixel,
    preprocessing,
    results,
    selection,
)

draw_frame("feature_maps")
apply_styles("feature_maps")
choices, pictures, verdict = columns(0.26, 0.46, 0.28)

with choices:
    chosen = picture.choose()
    model_input = results.model_input(chosen, network.choose())
with pictures:
    preprocessing.way_in(model_input)
with verdict:
    decision.prediction(model_input)
    network.about(model_input.loaded)

with st.container(gap="xsmall"):
    of = filmstrip.head(model_input)
    place = st.container()
    here = selection.choose(model_input, of)
    with place:
        filmstrip.strip(model_input, of, here)

views = {
    "Channels": channels.channels,
    "One pixel": pixel.pixel,
    "Kernels": kernels.kernels,
    "Statistics": kernels.statistics,
    "Prediction": decision.decision,
}
names = [name for name in views if model_input.labels or name != "Prediction"]
for name, tab in zip(names, st.tabs(names, key="view", bind="query-params"), strict=True):
    if tab.open:
        with tab, st.container(gap="xsmall"):
            views[name](model_input, here)
