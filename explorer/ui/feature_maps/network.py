"""Choosing the network and its weights. Models are shared by all readers and never changed: a
reader's own weights go into a model of their own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import streamlit as st
from torch import nn

from explorer.networks import CPU
from explorer.networks.image_networks import stated_accuracy
from explorer.ui.common.widgets import note, refuse
from explorer.vision import (
    BACKBONES,
    Backbone,
    DownloadError,
    WeightsError,
    build,
    load_published,
    load_weights,
)
from explorer.vision.download import cached, fetch

SHIPPED, RANDOM, IMAGENET, FILE = "Trained", "Random", "ImageNet", "File"
#: Megabytes of an uploaded weights file; the server's own limit is a little higher.
MOST = 60
_FIRST = "shapes_net"


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A network with weights. `weights` names them: equal names, equal weights; `trained` is
    False where they are random, `own` True where they are the reader's; the model is on
    `device`."""

    backbone: Backbone
    weights: str
    model: nn.Module
    trained: bool = True
    own: bool = False
    device: str = CPU

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for the same network with the same weights on the same device."""
        return self.backbone.name, self.weights, self.device


def choose() -> LoadedModel:
    """The list of networks, and of the weights each can have."""
    titles = {backbone.title: name for name, backbone in BACKBONES.items()}
    title = st.selectbox(
        "Network",
        list(titles),
        index=list(titles.values()).index(_FIRST),
        key="network",
        bind="query-params",
        label_visibility="collapsed",
        help="Which network looks at the picture",
    )
    backbone = BACKBONES[titles.get(title, _FIRST)]
    options = _options(backbone)
    if len(options) == 1:
        return _shared(backbone, options[0])
    choice = st.segmented_control(
        "Weights",
        options,
        default=options[0],
        required=True,
        key="weights",
        bind="query-params",
        label_visibility="collapsed",
        help="What it has learnt: its own training, nothing, ImageNet, or your file",
    )
    if backbone.slow:
        note("A large network: a new look takes seconds.")
    if choice == IMAGENET and not _at_hand(backbone):
        return untrained(backbone)
    if choice == FILE:
        return _from_file(backbone) or untrained(backbone)
    return _shared(backbone, choice if choice in options else options[0])


def untrained(backbone: Backbone) -> LoadedModel:
    """The network with random weights."""
    return _shared(backbone, RANDOM)


def about(loaded: LoadedModel) -> None:
    """What has to be known of the weights; said loudly where they are random."""
    backbone = loaded.backbone
    if not loaded.trained:
        st.warning(
            "**Untrained.** Random weights: the maps show how the network is built, not what it "
            "has learnt, and the prediction means nothing.",
            icon=":material/warning:",
        )
    elif loaded.weights == SHIPPED and backbone.labels:
        note(
            f"Trained on drawings of {len(backbone.labels)} shapes and textures, and right on "
            f"{stated_accuracy():.1%} of new ones. In a photograph it sees nothing it knows."
        )


def _options(backbone: Backbone) -> list[str]:
    if not backbone.labels:
        return [SHIPPED]
    file = [FILE] if backbone.megabytes <= MOST else []
    return [SHIPPED, RANDOM, *file] if backbone.ready else [RANDOM, IMAGENET, *file]


def _shared(backbone: Backbone, weights: str) -> LoadedModel:
    try:
        return LoadedModel(backbone, weights, _model(backbone.name, weights), weights != RANDOM)
    except (DownloadError, WeightsError) as error:
        refuse(str(error))
        return LoadedModel(backbone, RANDOM, _model(backbone.name, RANDOM), False)


@st.cache_resource(max_entries=8, show_spinner="Building the network")
def _model(name: str, weights: str) -> nn.Module:
    model = build(name, random=weights == RANDOM)
    if weights == IMAGENET:
        load_published(model, name)
    return model


def _at_hand(backbone: Backbone) -> bool:
    """Whether the published weights are on this machine; a button to fetch them if not."""
    if cached(backbone.url):
        return True
    place, below = st.empty(), st.empty()
    if not place.button(
        f"Download {backbone.megabytes:.0f} MB",
        icon=":material/download:",
        help="The weights PyTorch publishes, trained on ImageNet",
    ):
        return False
    bar = below.progress(0.0, "Downloading")

    def progress(done: int, total: int) -> None:
        bar.progress(done / total if total else 0.0, f"{done / 1e6:.0f} of {total / 1e6:.0f} MB")

    try:
        fetch(backbone.url, progress=progress)
    except DownloadError as error:
        with below:
            own = " A safetensors file of your own will do as well."
            refuse(str(error) + own * (FILE in _options(backbone)))
        return False
    place.empty()
    below.empty()
    return True


def _from_file(backbone: Backbone) -> LoadedModel | None:
    file = st.file_uploader(
        "Weights",
        type=["safetensors"],
        key="weights-file",
        max_upload_size=MOST,
        help=f"A state dict of {backbone.title}, saved with safetensors",
        label_visibility="collapsed",
    )
    if file is None:
        note(f"A safetensors file of {backbone.title}'s state dict, up to {MOST} MB.")
        return None
    data = file.getvalue()
    if len(data) > MOST * 2**20:
        refuse(f"The file is larger than {MOST} MB.")
        return None
    digest = hashlib.sha256(data).hexdigest()
    try:
        return LoadedModel(backbone, digest, _own(backbone.name, digest, _data=data), own=True)
    except WeightsError as error:
        refuse(str(error))
        return None


@st.cache_resource(max_entries=4, show_spinner="Reading the weights")
def _own(name: str, digest: str, *, _data: bytes) -> nn.Module:
    model = build(name, random=True)
    load_weights(model, _data)
    return model
