"""The reader's layer: one choice that graph, table, bars, histogram and laboratory share."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.networks import Report

#: The layer's name in the address.
ADDRESS = "at"
PARAMETER, PLACE = "parameter", "place"


def chosen(report: Report) -> str | None:
    """The chosen layer, if this network has it."""
    name = st.query_params.get(ADDRESS)
    return name if any(row.name == name for row in report.layers) else None


def choose(name: str, report: Report) -> None:
    """Choose a layer, "" for none; histogram and laboratory follow."""
    if not any(row.name == name for row in report.layers) or not name:
        st.query_params.pop(ADDRESS, None)
        return
    st.query_params[ADDRESS] = name
    st.session_state[PLACE] = name
    held = [p.name for p in report.parameters if p.layer == name and p.grad_norm is not None]
    if held:
        st.session_state[PARAMETER] = held[0]


def forget() -> None:
    """Another network: nothing of the last one is chosen or unfolded."""
    for name in (ADDRESS, "open"):
        st.query_params.pop(name, None)
    for name in (PARAMETER, PLACE):
        st.session_state.pop(name, None)


def among(key: str, options: Sequence[str], start: str) -> None:
    """Before a list's widget: replace a kept choice that is not on this list."""
    if st.session_state.get(key, start) not in options:
        st.session_state[key] = start
