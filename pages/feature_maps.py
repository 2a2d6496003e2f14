"""The Feature maps page: an image in, and what each layer of a network sees in it."""

import streamlit as st

from explorer.ui.common.frame import draw_frame
from explorer.ui.common.layout import columns
from explorer.ui.feature_maps.decision import draw_prediction
from explorer.ui.feature_maps.filmstrip import draw_filmstrip, draw_header
from explorer.ui.feature_maps.image_choice import choose_image
from explorer.ui.feature_maps.network_choice import choose_network, draw_weights_note
from explorer.ui.feature_maps.preprocessing import draw_preprocessing
from explorer.ui.feature_maps.results import make_model_input
from explorer.ui.feature_maps.selection import choose_position
from explorer.ui.feature_maps.tabs import TABS, tab_titles

draw_frame("feature_maps")
left, middle, right = columns(0.26, 0.46, 0.28)

with left:
    chosen = choose_image()
    model_input = make_model_input(chosen, choose_network())
with middle:
    draw_preprocessing(model_input)
with right:
    draw_prediction(model_input)
    draw_weights_note(model_input.loaded)

with st.container(gap="xsmall"):
    of = draw_header(model_input)
    filmstrip, position = st.container(), st.container(gap=None)
titles = tab_titles(model_input)
tabs = dict(zip(titles, st.tabs(titles, key="view", bind="query-params"), strict=True))


@st.fragment
def draw_selection() -> None:
    """What follows the selection of a layer, a channel or a position."""
    with position:
        selected = choose_position(model_input, of)
    with filmstrip:
        draw_filmstrip(model_input, of, selected)
    for title, tab in tabs.items():
        if tab.open:
            with tab:
                TABS[title](model_input, selected)


draw_selection()
