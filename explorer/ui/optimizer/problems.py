"""The problems on offer, and the widgets that choose one and its variant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from explorer import networks
from explorer.language import ProgramError
from explorer.networks import constant_init, planar, small_networks
from explorer.networks.classifiers import CLASSIFIERS
from explorer.training import PRESETS, Problem, ProgramProblem
from explorer.training.optimizers import optimizer_spec
from explorer.ui.common import open_in_optimizer
from explorer.ui.common.editor import colour_areas, height_of
from explorer.ui.common.query_params import validate, validate_named

#: Presses done when a problem is opened, so that there is something to see.
_OPENING = ("iterate", "iterate", "iterate", "zero_grad", "forward")


@dataclass(frozen=True)
class Offer:
    """A problem of the list. `make` draws the widgets of its variants, if it has any. `sgd_lr` is
    its learning rate with SGD, `adaptive_lr` with the others; `hyper` are its other settings with
    SGD, `opening` the presses it opens with."""

    title: str
    make: Callable[[], Problem]
    sgd_lr: float = 0.1
    adaptive_lr: float = 0.1
    hyper: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    opening: tuple[str, ...] = _OPENING

    def settings(self, optimizer: str) -> dict[str, Any]:
        """The hyperparameters this problem begins with."""
        own = {"lr": self.sgd_lr, **self.hyper} if optimizer == "SGD" else {"lr": self.adaptive_lr}
        return {**optimizer_spec(optimizer).defaults(), **own}


@dataclass(frozen=True)
class ChosenProblem:
    """The reader's choice. `name` is equal for equal problems."""

    key: str
    offer: Offer
    problem: Problem
    name: str
    note: str = ""


def take_sent_problem() -> bool:
    """Choose what another page has sent here; whether there was anything."""
    state = st.session_state
    program, network = open_in_optimizer.take()
    if program:
        state.problem = OWN
        state[SETUP], state[LOSS] = program["setup"], program["loss"]
    elif network:
        state.problem, choices = _OWN_OFFER.get(network, ("network", {"net": network}))
        for key, value in choices.items():
            state[key] = value
    return bool(program or network)


def choose_problem(place: Any, options: Any, on_change: Callable[[], None]) -> ChosenProblem:
    """Draw the list in the container `place`, the problem's own choices in `options`; `on_change`
    is called for another problem."""
    validate_named("problem", {key: offer.title for key, offer in OFFERS.items()})
    with place:
        key = st.selectbox(
            "Problem",
            list(OFFERS),
            format_func=lambda key: OFFERS[key].title,
            key="problem",
            bind="query-params",
            on_change=on_change,
            width=225,
            help="What is minimised. Choosing another problem starts a new run.",
        )
    key = key if key in OFFERS else FIRST
    with options:
        problem = OFFERS[key].make()
    text = f"{problem.setup}\0{problem.loss}" if isinstance(problem, ProgramProblem) else ""
    parts = (key, problem.name, text or problem.source)
    note = OFFERS[key].note or getattr(problem, "note", "")
    return ChosenProblem(key, OFFERS[key], problem, "\0".join(parts), note)


# -- problems with a choice of variants ----------------------------------------------------------

_VARIANTS = {
    "today": "float32, today's cross_entropy",
    "old": "float32, the old log-softmax",
    "float64": "float64",
}


def _choose_constant_init() -> Problem:
    validate_named("variant", _VARIANTS)
    variant = st.segmented_control(
        "Variant",
        list(_VARIANTS),
        default="today",
        required=True,
        format_func=_VARIANTS.__getitem__,
        key="variant",
        bind="query-params",
        label_visibility="collapsed",
        help="The same network with a different precision or loss implementation: its gradients "
        "should be 0 and are only rounding errors",
    )
    return constant_init.variants()[variant if variant in _VARIANTS else "today"]


def _select(
    label: str, key: str, options: tuple[Any, ...], start: Any, width: int, help: str
) -> Any:
    validate(key, list(map(str, options)).__contains__)
    value = st.selectbox(
        label, options, options.index(start), key=key, bind="query-params", width=width, help=help
    )
    return value if value in options else start


def _choose_planar() -> Problem:
    return planar.planar(
        _select("Data", "data", tuple(planar.DATA), "moons", 105, "How the points are arranged"),
        depth=_select(
            "Hidden layers", "depth", tuple(range(7)), 2, 130, "Linear layers before the last"
        ),
        width=_select(
            "Width", "width", (1, 2, 4, 8, 16, 32, 64), 8, 96, "Neurons in each hidden layer"
        ),
        activation=_select(
            "Activation",
            "activation",
            planar.ACTIVATIONS,
            "Tanh",
            125,
            "The function after each hidden layer",
        ),
        noise=_select(
            "Noise", "noise", (0.0, 0.1, 0.2, 0.4), 0.1, 96, "How far points are moved at random"
        ),
    )


def _choose_network() -> Problem:
    return networks.problem(
        _select("Network", "net", NETWORKS, "LeNet-5", 220, "Which network is trained")
    )


# -- the reader's own problem --------------------------------------------------------------------

#: Keys of the two boxes.
SETUP, LOSS = "setup", "loss"
_START = ProgramProblem(
    setup="""\
import torch
from torch import nn

x = torch.linspace(-2, 2, 40).view(-1, 1)
y = torch.sin(2 * x)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
""",
    loss="loss = ((net(x) - y) ** 2).mean()\n",
)
#: The lines of a box.
_LINES = 6


def _write_program() -> ProgramProblem:
    """Draw both boxes, side by side; their texts are saved in the page's link."""
    left, right = st.container().columns([0.6, 0.4], gap="small")
    with left, st.container(key="own-setup", gap=None):
        setup = _box(
            "Setup: runs once and creates the parameters",
            SETUP,
            _START.setup,
            "Runs at the start and at every reset. The parameters are its leaves that require "
            "grad, and those of its modules",
        )
    with right, st.container(key="own-loss", gap=None):
        loss = _box(
            "Loss: runs at every forward; its last scalar is minimised",
            LOSS,
            _START.loss,
            "Runs at every forward and may use all variables of the setup",
        )
    colour_areas("own-setup", "own-loss")
    return ProgramProblem(setup=setup, loss=loss)


def _box(label: str, key: str, start: str, help: str) -> str:
    text = st.text_area(
        label,
        start,
        height=height_of(_LINES),
        key=key,
        bind="query-params",
        help=f"{help}. Tab indents; Escape, then Tab leaves.",
    )
    return text or ""


def mark_line(error: ProgramError | None) -> None:
    """Mark the line that failed in its box."""
    if error is None or error.line is None:
        return
    part = "setup" if error.message.startswith("In the setup") else "loss"
    st.html(
        f"<style>.st-key-own-{part} .ax-code [data-line='{error.line}'] "
        "{ background: var(--ax-error-line); }</style>"
    )


# -- the list ------------------------------------------------------------------------------------

#: Networks of the Network page that have an offer of their own here, with its choices.
_OWN_OFFER: dict[str, tuple[str, dict[str, str]]] = {
    "all-0.1": ("tenths", {"variant": "today"}),
    "all-0.1 (old log-softmax)": ("tenths", {"variant": "old"}),
    "all-0.1 (float64)": ("tenths", {"variant": "float64"}),
    "two-layer sigmoid": ("sigmoid", {}),
    "MLP on moons": ("planar", {"data": "moons"}),
}
#: The others that are small enough to be stepped.
NETWORKS = tuple(n for n in networks.names() if n not in _OWN_OFFER and n not in CLASSIFIERS)
OWN = "own"
OFFERS = {
    **{
        name: Offer(
            preset.title, partial(PRESETS.__getitem__, name), preset.sgd_lr, preset.adaptive_lr
        )
        for name, preset in PRESETS.items()
    },
    "sigmoid": Offer(
        "Two layers with sigmoids",
        small_networks.two_layer_sigmoid,
        1.0,
        note="The sigmoids are saturated: gradients near 1e-4, so even lr 1 hardly moves a weight.",
    ),
    "tenths": Offer(
        "All weights 0.1",
        _choose_constant_init,
        1.0,
        0.01,
        opening=("forward", "backward", "step"),
    ),
    "planar": Offer(
        "2-D classification",
        _choose_planar,
        0.5,
        0.02,
        {"momentum": 0.9},
        note="The background is the probability of class 1; dots are the data.",
    ),
    "network": Offer("A network", _choose_network, 0.05, 0.001, opening=("forward",)),
    OWN: Offer("Your own program", _write_program, opening=("forward",)),
}
FIRST = next(iter(OFFERS))
