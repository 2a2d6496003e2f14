"""The problems on offer, and the widgets that choose one and its variant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from explorer import networks
from explorer.networks import planar
from explorer.networks.classifiers import CLASSIFIERS
from explorer.program import ProgramError
from explorer.training import PRESETS, Problem, ProgramProblem
from explorer.training.batches import Rows, in_batches
from explorer.training.optimizers import optimizer_spec
from explorer.ui.pages import LOSS, SETUP
from explorer.ui.widgets import open_in_optimizer
from explorer.ui.widgets.basics import note
from explorer.ui.widgets.copy_link import not_in_link
from explorer.ui.widgets.editor import TOO_LONG, colour_areas, fits_in_link, height_of
from explorer.ui.widgets.open_in_optimizer import OWN_TITLE, is_own_problem
from explorer.ui.widgets.query_params import validate, validate_named


@dataclass(frozen=True)
class Offer:
    """A problem of the list. `make` draws the widgets of its variants, if it has any. `sgd_lr` is
    its learning rate with SGD, `adaptive_lr` with the others; `hyper` are its other settings, by
    optimizer. `question` is what it answers, `note` what to see, `compare` the runs that show
    it."""

    title: str
    make: Callable[[], Problem]
    sgd_lr: float = 0.1
    adaptive_lr: float = 0.1
    hyper: dict[str, dict[str, Any]] = field(default_factory=dict)
    question: str = ""
    note: str = ""
    compare: str = ""

    def settings(self, optimizer: str) -> dict[str, Any]:
        """The hyperparameters this problem begins with."""
        spec = optimizer_spec(optimizer)
        lr = spec.suggest_lr(self.sgd_lr, self.adaptive_lr)
        return {**spec.defaults(), "lr": lr, **self.hyper.get(optimizer, {})}


@dataclass(frozen=True)
class ChosenProblem:
    """The reader's choice. `name` is equal for equal problems."""

    key: str
    offer: Offer
    problem: Problem
    name: str
    note: str = ""


def take_sent_problem() -> None:
    """Choose the program that another page has sent here, too long for a link."""
    st.session_state.update(open_in_optimizer.take_long_program())


def choose_problem(place: Any, options: Any) -> ChosenProblem:
    """Draw the list in the container `place`, the problem's own choices in `options`."""
    if "problem" not in st.query_params and st.query_params:
        st.session_state.setdefault("problem", _UNNAMED)
    validate_named("problem", {key: offer.title for key, offer in OFFERS.items()})
    with place:
        key = st.selectbox(
            "Problem",
            list(OFFERS),
            format_func=lambda key: OFFERS[key].title,
            key="problem",
            bind="query-params",
            width=225,
            help="What is minimised. Choosing another problem starts a new run.",
        )
    key = key if key in OFFERS else FIRST
    with options:
        problem = _choose_batch(OFFERS[key].make())
    text = f"{problem.setup}\0{problem.loss}" if isinstance(problem, ProgramProblem) else ""
    parts = (key, problem.name, text or problem.source)
    notes = [getattr(problem, "note", "")]
    if OFFERS[key].note:
        notes = [*(notes if getattr(problem, "batch_size", 0) else []), OFFERS[key].note]
    note = " ".join(filter(None, notes))
    return ChosenProblem(key, OFFERS[key], problem, "\0".join(parts), note)


def draw_question(chosen: ChosenProblem) -> None:
    """Draw the question that the problem answers, and what to see."""
    if chosen.note and chosen.key != OWN:
        st.html(
            f'<div class="ax-note"><b>{escape(chosen.offer.question)}</b> {escape(chosen.note)}'
            "</div>",
            width="stretch",
        )


# -- problems with a choice of variants ----------------------------------------------------------

_VARIANTS = {
    "today": "float32, today's cross_entropy",
    "old": "float32, the old log-softmax",
    "float64": "float64",
}
_TENTHS = {
    "today": "all weights 0.1",
    "old": "all weights 0.1, early log-softmax",
    "float64": "all weights 0.1, float64",
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
    return networks.problem(_TENTHS.get(variant, "all weights 0.1"))


def _select(
    label: str, key: str, options: tuple[Any, ...], start: Any, width: int, help: str
) -> Any:
    validate(key, list(map(str, options)).__contains__)
    value = st.selectbox(
        label, options, options.index(start), key=key, bind="query-params", width=width, help=help
    )
    return value if value in options else start


def _choose_batch(problem: Problem) -> Problem:
    """Draw the choice of a batch size for a problem that has samples."""
    rows: Rows | None = getattr(problem, "rows", None)
    if rows is None:
        return problem
    size = _select(
        "Batch", "batch", (_ALL, *rows.sizes()), _ALL, 96, "How many samples each forward takes"
    )
    return problem if size == _ALL else in_batches(problem, size)


_ALL = "all"


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
#: Whether the texts were too long for a link before.
_WAS_LONG = "own-was-long"
#: The lines of a box.
_LINES = 6


def _write_program() -> ProgramProblem:
    """Draw both boxes, side by side. Their texts are saved in the page's link, unless they are too
    long for one."""
    state, link = st.session_state, st.query_params
    starts = {SETUP: _START.setup, LOSS: _START.loss}
    texts = [state.get(key) or link.get(key) or start for key, start in starts.items()]
    fits = fits_in_link("".join(texts))
    if fits and state.pop(_WAS_LONG, False):
        link.update(zip(starts, texts, strict=True))  # the browser writes only later changes
    left, right = st.container().columns([0.6, 0.4], gap="small")
    with left, st.container(key="own-setup", gap=None):
        setup = _box(
            "Setup: runs once and creates the parameters",
            SETUP,
            _START.setup,
            "Runs at the start and at every reset. The parameters are its leaves that require "
            "grad, and those of its modules",
            fits,
        )
    with right, st.container(key="own-loss", gap=None):
        loss = _box(
            "Loss: runs at every forward; its last scalar is minimised",
            LOSS,
            _START.loss,
            "Runs at every forward and may use all variables of the setup",
            fits,
        )
    if not fits:
        state[_WAS_LONG] = True
        for key in starts:
            link.pop(key, None)
        note(TOO_LONG)
        not_in_link(TOO_LONG)
    colour_areas("own-setup", "own-loss")
    return ProgramProblem(setup=setup, loss=loss)


def _box(label: str, key: str, start: str, help: str, fits: bool) -> str:
    text = st.text_area(
        label,
        start,
        height=height_of(_LINES),
        key=key,
        bind="query-params" if fits else None,
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

#: The networks of the choice "A network": those small enough to be stepped.
NETWORKS = tuple(n for n in networks.names() if not is_own_problem(n) and n not in CLASSIFIERS)
OWN = "own"
OFFERS = {
    **{
        name: Offer(
            preset.title,
            partial(PRESETS.__getitem__, name),
            preset.sgd_lr,
            preset.adaptive_lr,
            question=preset.question,
            compare=preset.compare,
        )
        for name, preset in PRESETS.items()
    },
    "sigmoid": Offer(
        "Two layers with sigmoids",
        partial(networks.problem, "two-layer sigmoid"),
        1.0,
        0.5,
        question="Why does this network hardly learn?",
        note="The sigmoids are saturated: gradients near 1e-4, so even lr 1 hardly moves a weight. "
        "Adam divides by the gradient's size and learns.",
        compare="SGD lr=1 momentum=0.9; Adam lr=0.5",
    ),
    "tenths": Offer(
        "All weights 0.1",
        _choose_constant_init,
        1.0,
        0.01,
        question="Can a network learn when all its weights are equal?",
    ),
    "planar": Offer(
        "2-D classification",
        _choose_planar,
        0.5,
        0.02,
        {"SGD": {"momentum": 0.9}, "LBFGS": {"line_search_fn": "strong_wolfe"}},
        question="How does a network bend its decision boundary?",
        note="The background is the probability of class 1; dots are the data.",
        compare="SGD lr=0.5; Adam lr=0.02",
    ),
    "network": Offer(
        "A network",
        _choose_network,
        0.05,
        0.001,
        question="How fast does a network's loss fall?",
        compare="SGD lr=0.05 momentum=0.9; Adam lr=0.001",
    ),
    OWN: Offer(OWN_TITLE, _write_program),
}
FIRST = next(iter(OFFERS))
#: What links that name no problem are of. They are old: a link names its problem now.
_UNNAMED = "parabola"
