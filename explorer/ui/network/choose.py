"""The row above the graph: the network, its weights, changes to the run, and downloads; and the
reader's own network: a program in the editor, and what a child found in it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from explorer import sandbox
from explorer.networks import names
from explorer.networks.classifiers import CLASSIFIERS, published_weights, weights_file
from explorer.networks.examples import EXAMPLES
from explorer.networks.presets import RENAMED
from explorer.networks.runs import InspectedNetwork, InspectedProgram
from explorer.networks.settings import (
    IMAGENET,
    RANDOM,
    PresetFacts,
    Settings,
    describe_preset,
    make_script,
)
from explorer.program import ProgramError, ProgramRefused
from explorer.ui.network.graph import DrawnGraph
from explorer.ui.network.selection import Shown, clear_selection
from explorer.ui.network.table import layers_csv, parameters_csv
from explorer.ui.pages import MODULE
from explorer.ui.server.sandbox_call import ask, forget
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.basics import (
    choice,
    columns,
    device,
    download_entry,
    note,
    program_error,
    whole,
)
from explorer.ui.widgets.download_menu import download_menu
from explorer.ui.widgets.editor import draw_lines, editor
from explorer.ui.widgets.mounts import graph_files
from explorer.ui.widgets.open_in_optimizer import step_network, step_texts
from explorer.ui.widgets.open_network import OWN, show_maps, take_program
from explorer.ui.widgets.query_params import accept_renamed
from explorer.ui.widgets.weights_download import download_weights
from explorer.view.document import report_document

_SIDES = (16, 512)
_NAMES = (OWN, *names())
_FIRST = _NAMES[1]


def choose_network() -> str:
    """Draw the list of networks, the reader's own first."""
    text = take_program()
    if text:
        st.session_state[MODULE] = text
    accept_renamed("preset", RENAMED)
    name = st.selectbox(
        "Network",
        _NAMES,
        _NAMES.index(_FIRST),
        key="preset",
        bind="query-params",
        on_change=clear_selection,
        label_visibility="collapsed",
        help="Runs the chosen network once forward and once backward",
        width=230,
    )
    return name if name in _NAMES else _FIRST


def graph_and_numbers(name: str) -> tuple[Any, Any]:
    """The columns of the graph and of the numbers. The reader's own program stands above the
    numbers, on the left as on the Expression page."""
    if name == OWN:
        numbers, drawing = columns(0.44, 0.56)
        return drawing, numbers
    drawing, numbers = columns(0.56, 0.44)
    return drawing, numbers


def choose_settings(name: str, facts: PresetFacts, source: str = "") -> Settings:
    """Draw the weights that a network can have, and what can be changed; `source` is the program of
    the reader's own."""
    weights = RANDOM
    if name in CLASSIFIERS:
        weights = choice(
            "Weights",
            "trained",
            [RANDOM, IMAGENET],
            "Random weights, or weights trained on ImageNet",
        )
    return Settings(name, source, weights=weights, **_choose_changes(name, source, facts))


def with_available_weights(settings: Settings) -> Settings:
    """The settings with random weights if its trained ones have not been downloaded.

    A button then offers to download them.
    """
    if settings.weights == IMAGENET and weights_file(settings.name) is None:
        return settings if _download_weights(settings) else replace(settings, weights=RANDOM)
    return settings


def _download_weights(settings: Settings) -> bool:
    """Draw a button that downloads the weights; whether it has, with a sentence if it failed."""
    weights = published_weights(settings.name)
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
    with below:
        if not download_weights(weights.url):
            return False
    place.empty()
    return True


@shared(2**20)
def preset_facts(name: str) -> PresetFacts:
    """The facts of a preset."""
    return describe_preset(name)


def _choose_changes(name: str, source: str, facts: PresetFacts) -> dict[str, Any]:
    """Draw the popover; the fields of `Settings` that differ from the preset."""
    changes: dict[str, Any] = {}

    # Another program begins anew: what was set for the one before would not be what it asks for.
    which = f"{name}-{hashlib.sha256(source.encode()).hexdigest()[:8]}" if source else name
    with st.popover(
        "Run settings",
        icon=":material/tune:",
        type="tertiary",
        help="Mode, batch size, image size, a NaN",
    ):
        mode = choice(
            "Mode",
            f"mode-{which}",
            _modes(facts.train),
            "model.train() or model.eval(): changes dropout and batch norm",
        )
        changes["train"] = None if (mode == "train mode") == facts.train else not facts.train
        if facts.samples:
            batch = _number(
                "Batch size",
                f"batch-{which}",
                (1, facts.samples),
                facts.batch,
                "How many samples go through the network together",
            )
            changes["batch"] = None if batch == facts.batch else batch
        if len(facts.shape) == 3 and facts.samples:
            own = facts.shape[-1]  # a reader's network may take smaller or larger images
            side = _number(
                "Image size, px",
                f"side-{which}",
                (min(_SIDES[0], own), max(_SIDES[1], own)),
                own,
                "Height and width. Images of a size other than the preset's are noise",
            )
            changes["side"] = None if side == own else side
        changes["nan"] = st.toggle(
            "NaN in the last parameter",
            key="nan",
            bind="query-params",
            help="Sets one element to NaN, to show how far NaN spreads",
        )
        if name != OWN:
            about = "Where forward and backward run. Hooks always run on the CPU"
            changes["device"] = device(about)
    return changes


def _modes(train: bool) -> list[str]:
    return ["train mode", "eval mode"] if train else ["eval mode", "train mode"]


def _number(label: str, key: str, bounds: tuple[int, int], start: int, help: str) -> int:
    chosen = whole(label, key, *bounds, start=start, width=140, help=help)
    return start if chosen is None else chosen


def step_button(settings: Settings, facts: PresetFacts) -> None:
    """Offer to step the network, if it is small, and to see the maps of one that takes images."""
    if settings.source:
        if facts.setup:
            step_texts(facts.setup, facts.loss_source)
        if len(facts.shape) == 3 and facts.shape[0] in (1, 3) and facts.samples:
            show_maps(settings.source)
    elif not settings.large:
        step_network(settings.name)


def draw_downloads(shown: Shown, drawn: DrawnGraph | None) -> None:
    """Draw a menu of files; files of the graph only if there is one."""
    make = partial(report_document, shown.report, title=shown.facts.title)
    others = "The tables, the graph, a script that prints the same norms"
    place = download_menu(make, "network", others)
    if place is None:
        return
    with place:
        download_entry(
            "Layers as CSV",
            partial(layers_csv, shown.report),
            "layers.csv",
            "text/csv",
            "The tree with every column, and why a gradient is None",
        )
        download_entry(
            "Parameters as CSV",
            partial(parameters_csv, shown.report),
            "parameters.csv",
            "text/csv",
            "Every parameter with its norm, mean, standard deviation and gradient norm",
        )
        if drawn is not None:
            graph_files(drawn.dot, "network")
        download_entry(
            "PyTorch script",
            lambda: make_script(shown.settings, shown.facts).encode(),
            "network.py",
            "text/x-python",
            "The same run in plain PyTorch; prints the same norms",
        )


def draw_source(shown: Shown) -> None:
    """Draw the text of the network, and of its loss."""
    facts = shown.facts
    st.code(f"{facts.source}\n{facts.loss_source}", wrap_lines=True)


# -- the reader's own network ---------------------------------------------------------------------

#: In the session: the last network, and the last program that had none, with its error.
_NETWORK, _FAILED = "own-network", "own-failed"
_SLOT = "own-network"


@dataclass(frozen=True)
class OwnNetwork:
    """The network of the program `source`; its report is without the reader's changes."""

    source: str
    facts: PresetFacts
    inspected: InspectedNetwork


def write_network() -> OwnNetwork | None:
    """Draw the editor, and the error of its program; returns the network. While a new program runs,
    or if it has none, that is the one before."""
    source, tools = editor(EXAMPLES, MODULE)
    pressed = tools.button(
        "Run",
        icon=":material/play_arrow:",
        type="tertiary",
        key="run",
        help="Run the program again. In the editor: Ctrl+Enter",
    )
    if pressed:
        forget(_SLOT)
        st.session_state.pop(_FAILED, None)
    network, error = _run(source)
    draw_lines(lambda line: None, error=error.line if error else None, source=source)
    if error is not None:
        program_error(error)
        if network is not None:
            note("The network of the previous program is shown.")
    elif network is not None and network.source == source:
        note(network.facts.note)
    return network


def _run(source: str) -> tuple[OwnNetwork | None, ProgramError | None]:
    network: OwnNetwork | None = st.session_state.get(_NETWORK)
    place = st.empty()  # always there, so that what follows keeps its place on the page
    if network is not None and network.source == source:
        return network, None
    failed, error = st.session_state.get(_FAILED, ("", None))
    if failed == source and error is not None:
        return network, error
    submit = partial(sandbox.submit_network, "inspect_program", Settings(OWN, source), {})
    try:
        found: InspectedProgram | None = ask(
            _SLOT, source, submit, label="Running", place=place, shared=True
        )
    except ProgramRefused as refused:
        st.session_state[_FAILED] = source, refused.error
        return network, refused.error
    if found is not None:
        if network is not None and network.facts.title != found.facts.title:
            clear_selection()
        network = OwnNetwork(source, found.facts, found.inspected)
        st.session_state[_NETWORK] = network
    return network, None


def unchanged(network: OwnNetwork | None, settings: Settings) -> InspectedNetwork | None:
    """The report of the reader's own network, if the settings change nothing."""
    if network is None or settings != Settings(OWN, network.source):
        return None
    return network.inspected
