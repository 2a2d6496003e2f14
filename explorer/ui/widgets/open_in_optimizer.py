"""Opening a program or a network of another page on the Optimizer page, by a link."""

from __future__ import annotations

import streamlit as st

from explorer.trace import Trace
from explorer.training.split import split
from explorer.ui.pages import LOSS, SETUP, page
from explorer.ui.server.shared_cache import derived
from explorer.ui.widgets.editor import fits_in_link

#: The reader's own program in the list of problems.
OWN_TITLE = "Your own program"
#: Where the Optimizer page finds a program that is too long for a link: its texts by key.
_LONG = "step_program"

#: Networks that are problems of their own there, with what the link says of them.
_PROBLEMS = {
    "all weights 0.1": {"problem": "All weights 0.1"},
    "all weights 0.1, early log-softmax": {
        "problem": "All weights 0.1",
        "variant": "float32, the old log-softmax",
    },
    "all weights 0.1, float64": {"problem": "All weights 0.1", "variant": "float64"},
    "two-layer sigmoid": {"problem": "Two layers with sigmoids"},
    "MLP on moons": {"problem": "2-D classification"},
}


def network_link(name: str) -> dict[str, str]:
    """What the link says of a preset network."""
    return _PROBLEMS.get(name, {"problem": "A network", "net": name})


def is_own_problem(name: str) -> bool:
    """Whether a network is a problem of its own, besides those of the choice "A network"."""
    return name in _PROBLEMS


def step_program(trace: Trace) -> None:
    """Offer to step a program that has a loss to minimize."""
    parts = derived(trace, "split", lambda: split(trace))
    if parts is not None:
        step_texts(parts.setup, parts.loss)


def step_texts(setup: str, loss: str) -> None:
    """Offer to step a problem made of these two texts."""
    texts = {SETUP: setup, LOSS: loss}
    link = {"problem": OWN_TITLE}
    if _button():
        if fits_in_link(setup + loss):
            _open(link | texts)
        st.session_state[_LONG] = texts
        _open(link)


def step_network(name: str) -> None:
    """Offer to step a preset network."""
    if _button():
        _open(network_link(name))


def take_long_program() -> dict[str, str]:
    """The texts of a program that was too long for its link, once; nothing without one."""
    return st.session_state.pop(_LONG, {})


def _button() -> bool:
    optimizer = page("optimizer")
    return st.button(
        "Open in Optimizer",
        icon=optimizer.icon,
        type="tertiary",
        help=f"Open it on the {optimizer.title} page",
    )


def _open(link: dict[str, str]) -> None:
    # Asked to drop all parameters of the link, as it does by itself, Streamlit would refuse where
    # one is bound to a widget.
    st.switch_page(page("optimizer").file, query_params=link)
