"""Choosing the network and its weights. Until the reader has chosen, the page turns to a network
that suits the image.

Models are shared by all readers and never changed: a reader's own weights are loaded into a model
of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st
from torch import nn

from explorer import limits
from explorer.networks import CPU
from explorer.ui.feature_maps.image_choice import ChosenImage
from explorer.ui.feature_maps.own_network import (
    NotHere,
    OwnModule,
    choose_file,
    choose_own,
)
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.basics import note, refuse
from explorer.ui.widgets.open_network import OWN
from explorer.ui.widgets.reconnect import keep, take, waits_for_upload
from explorer.ui.widgets.weights_download import download_weights
from explorer.vision import (
    BACKBONES,
    Backbone,
    DownloadError,
    WeightsError,
    build,
    load_published,
    own_backbone,
)
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


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A network with weights. `weights` names them: equal names, equal weights; `trained` is
    False where they are random, `own` True where they are the reader's; the model is on
    `device`. Of a reader's own `module` there is no model here."""

    backbone: Backbone
    weights: str
    model: nn.Module
    trained: bool = True
    own: bool = False
    device: str = CPU
    module: OwnModule | None = None

    @property
    def knows_drawings_only(self) -> bool:
        """Whether it was trained on the project's drawings and nothing else."""
        return self.weights == SHIPPED and bool(self.backbone.labels)

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for the same network with the same weights on the same device."""
        return self.backbone.name, self.weights, self.device


def choose_network(chosen: ChosenImage, messages: Any) -> LoadedModel:
    """Draw the list of networks and of the weights each can have; load the chosen one. Files,
    downloads and what goes wrong have their place in the container `messages`."""
    suggested = follow_image(chosen)
    titles = [OWN, *(backbone.title for backbone in BACKBONES.values())]
    title = st.selectbox(
        "Network",
        titles,
        index=titles.index(suggested.title),
        key="network",
        bind="query-params",
        label_visibility="collapsed",
        width=196,
        help="The network that processes the image",
        on_change=keep_network,
    )
    if title == OWN:
        with messages:
            return _load_own()
    backbone = backbone_of(title or "") or suggested
    options = weights_options(backbone)
    if len(options) == 1:
        return _load_shared(backbone, options[0])
    choice = st.segmented_control(
        "Weights",
        options,
        default=options[0],
        required=True,
        key="weights",
        bind="query-params",
        label_visibility="collapsed",
        help="The weights: trained for this project or on ImageNet, random, or from your file",
        on_change=keep_network,
    )
    with messages:
        if backbone.slow:
            note("This is a large network: each change takes seconds.")
        if choice == IMAGENET and not _is_downloaded(backbone):
            return untrained(backbone)
        if choice == FILE:
            return _from_file(backbone) or untrained(backbone)
        return _load_shared(backbone, choice if choice in options else options[0])


def _load_own() -> LoadedModel:
    """The reader's own network; until it can be used, the one that ships with the project."""
    module = choose_own()
    if module is None:
        note(f"{_SHAPES.title} is shown instead.")
        return in_place_of_own()
    network = module.network
    backbone = own_backbone(network.name, network.side, network.channels, network.classes)
    trained = bool(module.file)
    return LoadedModel(backbone, module.digest, NotHere(), trained, own=True, module=module)


def in_place_of_own() -> LoadedModel:
    """What is shown where the reader's own network cannot be used."""
    return _load_shared(_SHAPES, SHIPPED)


def untrained(backbone: Backbone) -> LoadedModel:
    """The network with random weights."""
    return _load_shared(backbone, RANDOM)


def weights_options(backbone: Backbone) -> list[str]:
    if not backbone.labels:
        return [SHIPPED]
    file = [FILE] if backbone.megabytes <= limits.WEIGHTS_MEGABYTES else []
    return [SHIPPED, RANDOM, *file] if backbone.ready else [RANDOM, IMAGENET, *file]


def _load_shared(backbone: Backbone, weights: str) -> LoadedModel:
    try:
        return LoadedModel(
            backbone, weights, build_shared(backbone.name, weights), weights != RANDOM
        )
    except (DownloadError, WeightsError) as error:
        refuse(str(error))
        return LoadedModel(backbone, RANDOM, build_shared(backbone.name, RANDOM), trained=False)


@shared(limits.KEPT_MODELS)
def build_shared(name: str, weights: str) -> nn.Module:
    with st.spinner("Building the network"):
        model = build(name, random=weights == RANDOM)
        if weights == IMAGENET:
            load_published(model, name)
    return model


def _is_downloaded(backbone: Backbone) -> bool:
    """Whether the published weights are on this machine; if not, draw a button to download them."""
    if cached_file(backbone.url):
        return True
    button = st.empty()
    if not button.button(
        f"Download {backbone.megabytes:.0f} MB",
        icon=":material/download:",
        help="The weights that PyTorch publishes, trained on ImageNet",
    ):
        return False
    if not download_weights(backbone.url):
        if FILE in weights_options(backbone):
            note("You can also upload a file.")
        return False
    button.empty()
    return True


def _from_file(backbone: Backbone) -> LoadedModel | None:
    file = choose_file(backbone)
    if file is None:
        return None
    return LoadedModel(file.backbone, file.digest, file.model, own=True)


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
