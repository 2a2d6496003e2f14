"""Choosing the network and its weights. Models are shared by all readers and never changed: a
reader's own weights are loaded into a separate model."""

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
from explorer.vision.download import cached_file, fetch

SHIPPED, RANDOM, IMAGENET, FILE = "Trained", "Random", "ImageNet", "File"
#: The largest weights file in megabytes; the server's own limit is a little higher.
MAX_MEGABYTES = 60
_DEFAULT = "shapes_net"


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


def choose_network() -> LoadedModel:
    """Draw the list of networks and of the weights each can have; load the chosen one."""
    titles = {backbone.title: name for name, backbone in BACKBONES.items()}
    title = st.selectbox(
        "Network",
        list(titles),
        index=list(titles.values()).index(_DEFAULT),
        key="network",
        bind="query-params",
        label_visibility="collapsed",
        help="The network that processes the image",
    )
    backbone = BACKBONES[titles.get(title, _DEFAULT)]
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
    )
    if backbone.slow:
        note("This is a large network: each change takes seconds.")
    if choice == IMAGENET and not _is_downloaded(backbone):
        return untrained(backbone)
    if choice == FILE:
        return _from_file(backbone) or untrained(backbone)
    return _load_shared(backbone, choice if choice in options else options[0])


def untrained(backbone: Backbone) -> LoadedModel:
    """The network with random weights."""
    return _load_shared(backbone, RANDOM)


def draw_weights_note(loaded: LoadedModel) -> None:
    """Say how the weights were trained; warn where they are random."""
    backbone = loaded.backbone
    if not loaded.trained:
        st.warning(
            "**Untrained.** The weights are random: the maps show the architecture, not anything "
            "learned, and the prediction is meaningless.",
            icon=":material/warning:",
        )
    elif loaded.weights == SHIPPED and backbone.labels:
        note(
            f"Trained on drawings of {len(backbone.labels)} shapes and textures; it recognises "
            f"{stated_accuracy():.1%} of new drawings, but it cannot recognise photographs."
        )


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


@st.cache_resource(max_entries=8, show_spinner="Building the network")
def build_shared(name: str, weights: str) -> nn.Module:
    model = build(name, random=weights == RANDOM)
    if weights == IMAGENET:
        load_published(model, name)
    return model


def _is_downloaded(backbone: Backbone) -> bool:
    """Whether the published weights are on this machine; if not, draw a button to download them."""
    if cached_file(backbone.url):
        return True
    button, below = st.empty(), st.empty()
    if not button.button(
        f"Download {backbone.megabytes:.0f} MB",
        icon=":material/download:",
        help="The weights that PyTorch publishes, trained on ImageNet",
    ):
        return False
    bar = below.progress(0.0, "Downloading")

    def progress(done: int, total: int) -> None:
        bar.progress(done / total if total else 0.0, f"{done / 1e6:.0f} of {total / 1e6:.0f} MB")

    try:
        fetch(backbone.url, progress=progress)
    except DownloadError as error:
        with below:
            own = " You can also upload a safetensors file."
            refuse(str(error) + own * (FILE in weights_options(backbone)))
        return False
    button.empty()
    below.empty()
    return True


def _from_file(backbone: Backbone) -> LoadedModel | None:
    file = st.file_uploader(
        "Weights",
        type=["safetensors"],
        key="weights-file",
        max_upload_size=MAX_MEGABYTES,
        help=f"A state dict of {backbone.title}, saved with safetensors",
        label_visibility="collapsed",
    )
    if file is None:
        note(
            f"Upload a state dict of {backbone.title} saved with safetensors, "
            f"up to {MAX_MEGABYTES} MB."
        )
        return None
    data = file.getvalue()
    if len(data) > MAX_MEGABYTES * 2**20:
        refuse(f"The file is larger than {MAX_MEGABYTES} MB.")
        return None
    digest = hashlib.sha256(data).hexdigest()
    try:
        return LoadedModel(
            backbone, digest, _build_own(backbone.name, digest, _data=data), own=True
        )
    except WeightsError as error:
        refuse(str(error))
        return None


@st.cache_resource(max_entries=4, show_spinner="Reading the weights")
def _build_own(name: str, digest: str, *, _data: bytes) -> nn.Module:
    model = build(name, random=True)
    load_weights(model, _data)
    return model
