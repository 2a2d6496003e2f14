"""The problems on offer, and the widgets that choose one and its variant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from explorer import networks
from explorer.networks import constant_init, planar, small_networks
from explorer.networks.classifiers import CLASSIFIERS
from explorer.training import PRESETS, Problem, ProgramProblem
from explorer.training.optimizers import defaults
from explorer.ui.common import open_in_optimizer
from explorer.ui.common.query_params import validate, validate_named
from explorer.ui.optimizer import custom_problem

#: Presses done when a problem is opened, so that there is something to see.
_THREE = ("iterate", "iterate", "iterate", "zero_grad", "forward")


@dataclass(frozen=True)
class Offer:
    """A problem of the list. `sgd` is its learning rate with SGD, `adaptive` with the others;
    `hyper` are its other settings with SGD, `opening` the presses it opens with."""

    title: str
    make: Callable[[], Problem]
    sgd: float
    adaptive: float = 0.1
    hyper: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    opening: tuple[str, ...] = _THREE

    def settings(self, optimizer: str) -> dict[str, Any]:
        """The hyperparameters this problem begins with."""
        own_ones = {"lr": self.sgd, **self.hyper} if optimizer == "SGD" else {"lr": self.adaptive}
        return {**defaults(optimizer), **own_ones}


@dataclass(frozen=True)
class Chosen:
    """The reader's choice. `name` is equal for equal problems."""

    key: str
    offer: Offer
    problem: Problem
    name: str
    note: str = ""


_VARIANTS = {
    "today": "float32, today's cross_entropy",
    "old": "float32, the old log-softmax",
    "float64": "float64",
}


def _tenths() -> Problem:
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
        help="The same network in other arithmetic: its gradients should be 0, and are noise",
    )
    return constant_init.variants()[variant if variant in _VARIANTS else "today"]


def _select(
    label: str, key: str, options: tuple[Any, ...], start: Any, width: int, help: str
) -> Any:
    validate(key, list(map(str, options)).__contains__)
    found = st.selectbox(
        label, options, options.index(start), key=key, bind="query-params", width=width, help=help
    )
    return found if found in options else start


def _planar() -> Problem:
    return planar.planar(
        _select("Data", "data", tuple(planar.DATA), "moons", 105, "How the points lie"),
        depth=_select(
            "Hidden layers", "depth", tuple(range(7)), 2, 130, "Linear layers before the last"
        ),
        width=_select(
            "Width", "width", (1, 2, 4, 8, 16, 32, 64), 8, 96, "Neurons of each hidden layer"
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


def _network() -> Problem:
    return networks.problem(
        _select("Network", "net", NETWORKS, "LeNet-5", 220, "Which network is trained")
    )


#: Networks of the Network page that are problems of their own here, with what else to choose.
_KNOWN: dict[str, tuple[str, dict[str, str]]] = {
    "all-0.1": ("tenths", {"variant": "today"}),
    "all-0.1 (old log-softmax)": ("tenths", {"variant": "old"}),
    "all-0.1 (float64)": ("tenths", {"variant": "float64"}),
    "two-layer sigmoid": ("sigmoid", {}),
    "MLP on moons": ("planar", {"data": "moons"}),
}
#: The others that are small enough to be stepped.
NETWORKS = tuple(n for n in networks.names() if n not in _KNOWN and n not in CLASSIFIERS)
OWN = "own"
OFFERS = {
    "parabola": Offer("Parabola", partial(PRESETS.__getitem__, "parabola"), 0.2, 1.0),
    "quadratic": Offer(
        "Ill-conditioned quadratic",
        partial(PRESETS.__getitem__, "ill-conditioned quadratic"),
        0.4,
        0.5,
    ),
    "rosenbrock": Offer(
        "Rosenbrock's banana", partial(PRESETS.__getitem__, "rosenbrock"), 0.001, 0.05
    ),
    "regression": Offer(
        "Linear regression", partial(PRESETS.__getitem__, "linear regression"), 0.1
    ),
    "sigmoid": Offer(
        "Two layers with sigmoids",
        small_networks.two_layer_sigmoid,
        1.0,
        note="The sigmoids are saturated: gradients near 1e-4, so even lr 1 hardly moves a weight.",
    ),
    "tenths": Offer("All weights 0.1", _tenths, 1.0, 0.01, opening=("forward", "backward", "step")),
    "planar": Offer(
        "2-D classification",
        _planar,
        0.5,
        0.02,
        {"momentum": 0.9},
        note="The background is the probability of class 1; dots are the data.",
    ),
    "network": Offer("A network", _network, 0.05, 0.001, opening=("forward",)),
    OWN: Offer("Your own program", custom_problem.boxes, 0.1, opening=("forward",)),
}
FIRST = "parabola"


def take_over() -> bool:
    """What another page has handed over becomes the problem; whether there was anything."""
    state = st.session_state
    program, network = open_in_optimizer.take()
    if program:
        state.problem = OWN
        state[custom_problem.SETUP], state[custom_problem.LOSS] = program["setup"], program["loss"]
    elif network:
        state.problem, choices = _KNOWN.get(network, ("network", {"net": network}))
        for key, value in choices.items():
            state[key] = value
    return bool(program or network)


def choose(place: Any, below: Any, on_change: Callable[[], None]) -> Chosen:
    """The list goes to `place`, options to `below`; `on_change` is called for another problem."""
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
            help="What is minimised. Another problem starts afresh.",
        )
    key = key if key in OFFERS else FIRST
    with below:
        problem = OFFERS[key].make()
    text = f"{problem.setup}\0{problem.loss}" if isinstance(problem, ProgramProblem) else ""
    parts = (key, problem.name, text or problem.source)
    note = OFFERS[key].note or getattr(problem, "note", "")
    return Chosen(key, OFFERS[key], problem, "\0".join(parts), note)
