"""The Feature maps page: an image in, and what each layer of a network sees in it."""

import streamlit as st

from explorer.ui import frame
from explorer.ui.maps import (
    channels,
    decision,
    kernels,
    network,
    picture,
    pixel,
    results,
    spot,
    strip,
    style,
    way_in,
)

frame.page("feature_maps")
style.apply()
choices, pictures, verdict = style.columns(0.26, 0.46, 0.28)

with choices:
    chosen = picture.choose()
    look = results.look(chosen, network.choose())
with pictures:
    way_in.way_in(look)
with verdict:
    decision.prediction(look)
    network.about(look.eyes)

with st.container(gap="xsmall"):
    of = strip.head(look)
    place = st.container()
    here = spot.choose(look, of)
    with place:
        strip.strip(look, of, here)

views = {
    "Channels": channels.channels,
    "One pixel": pixel.pixel,
    "Kernels": kernels.kernels,
    "Statistics": kernels.statistics,
    "Prediction": decision.decision,
}
names = [name for name in views if look.labels or name != "Prediction"]
for name, tab in zip(names, st.tabs(names, key="view", bind="query-params"), strict=True):
    if tab.open:
        with tab, st.container(gap="xsmall"):
            views[name](look, here)
