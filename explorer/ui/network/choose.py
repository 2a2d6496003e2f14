"""The row above the graph: the network, its weights, changes to the run, and downloads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from explorer.networks import Report, names, problem
from explorer.networks.classifiers import CLASSIFIERS, published_weights, weights_file
from explorer.ui.common.downloads import file, graph_files
from explorer.ui.common.open_in_optimizer import step_network
from explorer.ui.common.widgets import choice, device, menu, note, refuse, whole
from explorer.ui.network.graph import DrawnGraph
from explorer.ui.network.selection import clear_selection
from explorer.ui.network.settings import (
    IMAGENET,
    RANDOM,
    PresetFacts,
    Setting,
    describe_preset,
    make_script,
)
from explorer.ui.network.table import to_csv
from explorer.vision import DownloadError
from explorer.vision.download import fetch

_SIDES = (16, 512)
_NAMES = names()


def choose_setting() -> Setting:
    """Draw the list of networks, the weights each can have, and what can be changed."""
    name = st.selectbox(
        "Network",
        _NAMES,
        key="preset",
        bind="query-params",
        on_change=clear_selection,
        label_visibility="collapsed",
        help="Runs the chosen network once forward and once backward",
        width=230,
    )
    name = name if name in _NAMES else _NAMES[0]
    weights = RANDOM
    if name in CLASSIFIERS:
        weights = choice(
            "Weights",
            "trained",
            [RANDOM, IMAGENET],
            "Random weights, or weights trained on ImageNet",
        )
    return Setting(name, weights, **_choose_changes(name))


def with_available_weights(setting: Setting) -> Setting:
    """The setting with random weights if its trained ones have not been downloaded.

    A button then offers to download them.
    """
    if setting.weights == IMAGENET and weights_file(setting.name) is None:
        return setting if _download_weights(setting) else replace(setting, weights=RANDOM)
    return setting


def _download_weights(setting: Setting) -> bool:
    """Draw a button that downloads the weights; whether it has, with a sentence if it failed."""
    weights = published_weights(setting.name)
    place, below = st.empty(), st.empty()
    with place.container(horizontal=True, vertical_alignment="center", gap="small"):
        pressed = st.button(
            f"Download {weights.megabytes:.0f} MB",
            icon=":material/download:",
            help="Downloads the weights that PyTorch publishes, trained on ImageNet",
        )
        note("The ImageNet weights are not on this computer, so the weights shown are random.")
    if not pressed:
        return False
    bar = below.progress(0.0, "Downloading")

    def progress(done: int, total: int) -> None:
        bar.progress(done / total if total else 0.0, f"{done / 1e6:.0f} of {total / 1e6:.0f} MB")

    try:
        fetch(weights.url, progress=progress)
    except DownloadError as error:
        with below:
            refuse(str(error))
        return False
    place.empty()
    below.empty()
    return True


@st.cache_data(max_entries=64, show_spinner=False)
def preset_facts(name: str) -> PresetFacts:
    """The facts of a preset."""
    return describe_preset(name)


def _choose_changes(name: str) -> dict[str, Any]:
    """Draw the popover; the fields of `Setting` that differ from the preset."""
    facts = preset_facts(name)
    changes: dict[str, Any] = {}
    with st.popover(
        "Run settings",
        icon=":material/tune:",
        type="tertiary",
        help="Mode, batch size, image size, a NaN",
    ):
        mode = choice(
            "Mode",
            f"mode-{name}",
            _modes(facts.train),
            "model.train() or model.eval(): changes dropout and batch norm",
        )
        changes["train"] = None if (mode == "train mode") == facts.train else not facts.train
        if facts.samples:
            batch = _number(
                "Batch size",
                f"batch-{name}",
                (1, facts.samples),
                facts.batch,
                "How many samples go through the network together",
            )
            changes["batch"] = None if batch == facts.batch else batch
        if len(facts.shape) == 3 and facts.samples:
            side = _number(
                "Image size, px",
                f"side-{name}",
                _SIDES,
                facts.shape[-1],
                "Height and width. Images of a size other than the preset's are noise",
            )
            changes["side"] = None if side == facts.shape[-1] else side
        changes["nan"] = st.toggle(
            "NaN in the last parameter",
            key="nan",
            bind="query-params",
            help="Sets one element to NaN, to show how far NaN spreads",
        )
        changes["device"] = device("Where forward and backward run. Hooks always run on the CPU")
    return changes


def _modes(train: bool) -> list[str]:
    return ["train mode", "eval mode"] if train else ["eval mode", "train mode"]


def _number(label: str, key: str, bounds: tuple[int, int], start: int, help: str) -> int:
    chosen = whole(label, key, *bounds, start=start, width=140, help=help)
    return start if chosen is None else chosen


def step_button(setting: Setting) -> None:
    """Offer to step the network, if it is small."""
    if not setting.large:
        step_network(setting.name)


def download_menu(setting: Setting, report: Report, drawn: DrawnGraph | None) -> None:
    """Draw a menu of files; files of the graph only if there is one."""
    place = menu(
        "Download",
        icon="download",
        key="download",
        help="The table, the graph, or a script that prints the same norms",
    )
    if place is None:
        return
    with place:
        file(
            "Table as CSV",
            partial(to_csv, report),
            "layers.csv",
            "text/csv",
            "Every column of the table, and why a gradient is None",
        )
        if drawn is not None:
            graph_files(drawn.dot, "network")
        file(
            "PyTorch script",
            lambda: make_script(setting).encode(),
            "network.py",
            "text/x-python",
            "The same run in plain PyTorch; prints the same norms",
        )


def draw_source(setting: Setting) -> None:
    """Draw the preset's own text."""
    preset = problem(setting.name)
    st.code(f"{preset.source}\n{preset.loss_source}", wrap_lines=True)
