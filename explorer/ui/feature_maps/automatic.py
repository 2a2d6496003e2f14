"""The network that suits the image: the page turns to it until the reader has chosen one."""

from __future__ import annotations

import streamlit as st

from explorer.ui.common.open_network import OWN
from explorer.ui.common.reconnect import keep, take, waits_for_upload
from explorer.ui.common.weights_download import download_weights
from explorer.ui.feature_maps.image_choice import ChosenImage
from explorer.vision import BACKBONES, Backbone
from explorer.vision.download import cached_file

SHIPPED, RANDOM, IMAGENET, FILE = "Trained", "Random", "ImageNet", "File"
#: Recognises photographs and is quick; its maps are easy to read.
OFFERED = BACKBONES["resnet18"]
_FILTERS, _SHAPES = BACKBONES["filter_bank"], BACKBONES["shapes_net"]

#: In the session: whether the page chooses the network, and its last change: for which image, and
#: from which network.
_AUTOMATIC, _TURNED = "network-automatic", "network-turned"
#: In the browser: the network that an uploaded image was shown with.
_SHOWN = "network-shown"
#: The reader's own images in the session, by how they came.
_OWN_IMAGES = ("picture-file", "picture-camera")
_LOOKS = {"photograph": "a photograph", "drawing": "a simple drawing"}


def suggest_network(chosen: ChosenImage) -> Backbone:
    """The network that makes sense for the image. One that is neither clearly a photograph nor a
    drawing stays with the network that is there."""
    if chosen.kind == "drawing":
        return _SHAPES
    if chosen.kind == "photograph":
        return published_here() or _FILTERS
    return backbone_of(st.session_state.get("network", "")) or _FILTERS


def published_here() -> Backbone | None:
    """The first network whose ImageNet weights are on this machine."""
    quick_first = sorted(BACKBONES.values(), key=lambda backbone: backbone.slow)
    return next((b for b in quick_first if b.url and cached_file(b.url)), None)


def backbone_of(title: object) -> Backbone | None:
    """The network with this title in the list."""
    return next((b for b in BACKBONES.values() if b.title == title), None)


def follow_image(chosen: ChosenImage) -> Backbone:
    """Before the list of networks is drawn: select the one that suits the image, unless the
    reader or the link has chosen another. Returns the one that suits."""
    state = st.session_state
    suggested = suggest_network(chosen)
    before, waits = state.get("network"), any(map(waits_for_upload, _OWN_IMAGES))
    if before is None:  # the page is being opened
        asked = st.query_params.get("network", "")
        is_chosen = asked == OWN or backbone_of(asked) is not None or take(_AUTOMATIC) is False
        state[_AUTOMATIC] = not is_chosen
        state.pop(_TURNED, None)
        shown = backbone_of(take(_SHOWN))
        if waits and shown and not is_chosen:
            before = state["network"] = shown.title
    # What is shown in place of an image that was lost changes nothing.
    turns = state.get(_AUTOMATIC) and (before is None or not waits)
    if turns and before != suggested.title:
        state["network"] = suggested.title
        if before is None and "weights" in st.query_params:
            return suggested
        if suggested.url:
            state["weights"] = IMAGENET
        elif suggested.labels:
            state["weights"] = SHIPPED
        if before is not None:
            state[_TURNED] = chosen.digest, before
    if any(state.get(key) is not None for key in _OWN_IMAGES):
        keep(_SHOWN, state.get("network", suggested.title))
    if not state.get(_AUTOMATIC):
        keep(_AUTOMATIC, False)  # the link lacks a network that is the first of the list
    return suggested


def keep_network() -> None:
    """In a callback: the reader has chosen; the image no longer changes that."""
    st.session_state[_AUTOMATIC] = False
    st.session_state.pop(_TURNED, None)


def draw_turn(chosen: ChosenImage) -> None:
    """Say that the page has turned to another network for this image, with a way back."""
    digest, before = st.session_state.get(_TURNED, ("", ""))
    if digest != chosen.digest or chosen.kind not in _LOOKS:
        return
    now = st.session_state["network"]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="turn"):
        sentence = f"This looks like {_LOOKS[chosen.kind]}, so the network is now: {now}."
        st.html(f'<div class="ax-note">{sentence}</div>', width="content")
        st.button(
            f"Back to {before}",
            key="network-back",
            type="tertiary",
            on_click=_choose,
            args=(before,),
            help="Keeps this network, whatever the image",
        )


def draw_suggestion(suggested: Backbone) -> None:
    """A button to the network that suits the image."""
    st.button(
        f"Use {suggested.title}",
        key="network-suit",
        type="tertiary",
        on_click=_follow,
        help="Lets the page choose a network that suits the image",
    )


def draw_offer() -> None:
    """A button that downloads a network's ImageNet weights, with its progress, and turns to it."""
    place, below = st.empty(), st.empty()
    if not place.button(
        f"Recognise it: get {OFFERED.title}, {OFFERED.megabytes:.0f} MB",
        key="network-get",
        icon=":material/download:",
        type="tertiary",
        help="Downloads the weights that PyTorch publishes, trained on photographs (ImageNet)",
    ):
        return
    with below:
        if download_weights(OFFERED.url):
            _follow()
            st.rerun()


def _choose(title: str) -> None:
    keep_network()
    st.session_state["network"] = title


def _follow() -> None:
    st.session_state[_AUTOMATIC] = True
