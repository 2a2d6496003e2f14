"""Choosing the network and its weights. Models are shared by all readers and never changed: a
reader's own weights are loaded into a separate model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st
from torch import nn

from explorer.networks import CPU
from explorer.ui.common.open_network import OWN
from explorer.ui.common.shared_cache import shared
from explorer.ui.common.weights_download import download_weights
from explorer.ui.common.widgets import note, refuse
from explorer.ui.feature_maps.automatic import (
    FILE,
    IMAGENET,
    RANDOM,
    SHIPPED,
    backbone_of,
    follow_image,
    keep_network,
)
from explorer.ui.feature_maps.image_choice import ChosenImage
from explorer.ui.feature_maps.own_network import NotHere, OwnModule, choose_own
from explorer.ui.feature_maps.weights_file import KEPT_BYTES, MAX_MEGABYTES, choose_file
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

_INSTEAD = "shapes_net"


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
        note(f"{BACKBONES[_INSTEAD].title} is shown instead.")
        return in_place_of_own()
    network = module.network
    backbone = own_backbone(network.name, network.side, network.channels, network.classes)
    trained = bool(module.file)
    return LoadedModel(backbone, module.digest, NotHere(), trained, own=True, module=module)


def in_place_of_own() -> LoadedModel:
    """What is shown where the reader's own network cannot be used."""
    return _load_shared(BACKBONES[_INSTEAD], SHIPPED)


def untrained(backbone: Backbone) -> LoadedModel:
    """The network with random weights."""
    return _load_shared(backbone, RANDOM)


def weights_options(backbone: Backbone) -> list[str]:
    if not backbone.labels:
        return [SHIPPED]
    file = [FILE] if backbone.megabytes <= MAX_MEGABYTES else []
    return [SHIPPED, RANDOM, *file] if backbone.ready else [RANDOM, IMAGENET, *file]


def _load_shared(backbone: Backbone, weights: str) -> LoadedModel:
    try:
        return LoadedModel(
            backbone, weights, build_shared(backbone.name, weights), weights != RANDOM
        )
    except (DownloadError, WeightsError) as error:
        refuse(str(error))
        return LoadedModel(backbone, RANDOM, build_shared(backbone.name, RANDOM), trained=False)


@shared(KEPT_BYTES)
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
