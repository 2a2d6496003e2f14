"""Choosing a network, and changing its weights, mode and input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from explorer.networks import names, problem
from explorer.networks.classifiers import CLASSIFIERS, published, weights_file
from explorer.ui.common.open_in_optimizer import step_network
from explorer.ui.common.widgets import choice, device, note, refuse, whole
from explorer.ui.network import pick
from explorer.ui.network.settings import IMAGENET, RANDOM, Facts, Setting, facts
from explorer.vision import DownloadError
from explorer.vision.download import fetch

#: Where the Optimizer page finds the name of the network to step.
_SIDES = (16, 512)
_NAMES = names()


def choose() -> Setting:
    """The list of networks, the weights each can have, and what to change."""
    name = st.selectbox(
        "Network",
        _NAMES,
        key="preset",
        bind="query-params",
        on_change=pick.forget,
        label_visibility="collapsed",
        help="Runs another network, once forward and once backward",
        width=230,
    )
    name = name if name in _NAMES else _NAMES[0]
    weights = RANDOM
    if name in CLASSIFIERS:
        weights = choice(
            "Weights", "trained", [RANDOM, IMAGENET], "Random numbers, or those trained on ImageNet"
        )
    changes = _changes(name)
    return Setting(name, weights, **changes)


def available(setting: Setting) -> Setting:
    """The setting with random weights where those it wants are not here; they can be fetched."""
    if setting.weights == IMAGENET and weights_file(setting.name) is None and not _fetch(setting):
        return replace(setting, weights=RANDOM)
    return setting


def _fetch(setting: Setting) -> bool:
    """Whether the weights have come; until then a button, and a sentence if they cannot."""
    file = published(setting.name)
    place, below = st.empty(), st.empty()
    with place.container(horizontal=True, vertical_alignment="center", gap="small"):
        pressed = st.button(
            f"Download {file.megabytes:.0f} MB",
            icon=":material/download:",
            help="The weights PyTorch publishes, trained on ImageNet",
        )
        note("The ImageNet weights are not on this computer. Shown with random weights.")
    if not pressed:
        return False
    bar = below.progress(0.0, "Downloading")

    def progress(done: int, total: int) -> None:
        bar.progress(done / total if total else 0.0, f"{done / 1e6:.0f} of {total / 1e6:.0f} MB")

    try:
        fetch(file.url, progress=progress)
    except DownloadError as error:
        with below:
            refuse(str(error))
        return False
    place.empty()
    below.empty()
    return True


@st.cache_data(max_entries=64, show_spinner=False)
def known(name: str) -> Facts:
    """The facts of a preset."""
    return facts(name)


def _changes(name: str) -> dict[str, Any]:
    """What the popover says; only what differs from the preset."""
    fact = known(name)
    found: dict[str, Any] = {}
    with st.popover(
        "Change the run",
        icon=":material/tune:",
        type="tertiary",
        help="Mode, batch, size of the images, a NaN",
    ):
        training = choice(
            "Mode",
            f"mode-{name}",
            _modes(fact.train),
            "model.train() or model.eval(): for dropout and batch norm",
        )
        found["train"] = None if (training == "train mode") == fact.train else not fact.train
        if fact.samples:
            batch = _number(
                "Samples in the batch",
                f"batch-{name}",
                (1, fact.samples),
                fact.batch,
                "How many samples go through the network together",
            )
            found["batch"] = None if batch == fact.batch else batch
        if len(fact.shape) == 3 and fact.samples:
            side = _number(
                "Side of the images, px",
                f"side-{name}",
                _SIDES,
                fact.shape[-1],
                "Height and width; another size than the network's own is filled with noise",
            )
            found["side"] = None if side == fact.shape[-1] else side
        found["nan"] = st.toggle(
            "NaN in the last parameter",
            key="nan",
            bind="query-params",
            help="Puts one NaN there, to see how far it spreads",
        )
        found["device"] = device("Where forward and backward run; hooks are tried on the CPU")
    return found


def _modes(train: bool) -> list[str]:
    return ["train mode", "eval mode"] if train else ["eval mode", "train mode"]


def _number(label: str, key: str, bounds: tuple[int, int], start: int, help: str) -> int:
    chosen = whole(label, key, *bounds, start=start, width=140, help=help)
    return start if chosen is None else chosen


def step_button(setting: Setting) -> None:
    """Offer to step the network, if it is small."""
    if not setting.large:
        step_network(setting.name)


def source(setting: Setting) -> None:
    """The preset's own text."""
    found = problem(setting.name)
    st.code(f"{found.source}\n{found.loss_source}", wrap_lines=True)
