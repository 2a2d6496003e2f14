"""The Feature maps page: an image in, and what each layer of a network sees in it."""

import streamlit as st

import explorer.ui.server.early  # noqa: F401  (first)
from explorer.ui.feature_maps.decision import draw_prediction
from explorer.ui.feature_maps.downloads import draw_downloads
from explorer.ui.feature_maps.filmstrip import choose_side, draw_filmstrip
from explorer.ui.feature_maps.image_choice import choose_image
from explorer.ui.feature_maps.network_choice import choose_network, draw_turn
from explorer.ui.feature_maps.preprocessing import draw_preprocessing_menu, draw_thumbnails
from explorer.ui.feature_maps.results import leave_long_run, make_model_input
from explorer.ui.feature_maps.selection import choose_position
from explorer.ui.feature_maps.tabs import TABS, tab_titles
from explorer.ui.widgets.basics import draw_tabs, reported
from explorer.ui.widgets.frame import draw_frame
from explorer.ui.widgets.lesson_strip import see

draw_frame("feature_maps")
with st.container(horizontal=True, gap="small", key="top"):
    thumbnails = st.container(width="content", key="thumbnails")
    with st.container(gap="xsmall", key="choices"):
        line = st.container(horizontal=True, vertical_alignment="center", gap="small")
        prediction, messages = st.container(gap="xsmall"), st.container(gap="xsmall")
with line:
    chosen = choose_image(messages)
    model_input = make_model_input(chosen, choose_network(chosen, messages))
    draw_preprocessing_menu(model_input)
with thumbnails:
    draw_thumbnails(model_input)
own = model_input.loaded.module
with prediction, reported(own):
    draw_prediction(model_input)
    draw_turn(chosen)

with st.container(horizontal=True, vertical_alignment="center", gap="small", key="position"):
    of = choose_side()
    position = st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="fields", width="stretch"
    )
filmstrip = st.container()
tabs = draw_tabs(tab_titles(model_input), "view")


@st.fragment
def draw_selection() -> None:
    """What follows the selection of a layer, a channel or a position."""
    with reported(own):
        draw_selected()


def draw_selected() -> None:
    with position:
        selected = choose_position(model_input, of)
        see(layer=selected.layer.name, channel=selected.channel)
        draw_downloads(model_input, selected)
    with filmstrip:
        draw_filmstrip(model_input, of, selected)
    if not tabs["More"].open:
        leave_long_run()
    for title, tab in tabs.items():
        if tab.open:
            with tab:
                TABS[title](model_input, selected)


draw_selection()
