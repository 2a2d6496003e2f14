"""Opening a program or a network of another page on the Optimizer page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import streamlit as st

from explorer.trace import Trace
from explorer.training.split import split
from explorer.ui.common.pages import page

#: Where the Optimizer page finds what was sent to it: {"setup": text, "loss": text}, and the name
#: of a preset network.
PROGRAM, NETWORK = "step_program", "step_network"


def step_program(trace: Trace) -> None:
    """Offer to step a program that has a loss to minimize."""
    parts = split(trace)
    if parts is not None:
        _button("Open in Optimizer", PROGRAM, asdict(parts))


def step_network(name: str) -> None:
    """Offer to step a preset network."""
    _button("Open in Optimizer", NETWORK, name)


def take() -> tuple[dict[str, str] | None, str | None]:
    """The program and the name of the network that were sent here, each once; None for neither."""
    return st.session_state.pop(PROGRAM, None), st.session_state.pop(NETWORK, None)


def _button(label: str, key: str, value: Any) -> None:
    optimizer = page("optimizer")
    if st.button(
        label,
        icon=optimizer.icon,
        type="tertiary",
        help=f"Open it on the {optimizer.title} page",
    ):
        st.session_state[key] = value
        # Asked to drop all parameters of the link, as it does by itself, Streamlit would refuse
        # where one is bound to a widget.
        st.switch_page(optimizer.file, query_params={})
