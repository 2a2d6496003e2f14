"""The selected layer, which the graph, the table, the bars, the histogram and the hooks share."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.networks import Report

#: The query parameter with the layer's name.
LAYER = "at"
#: The widgets whose selection follows the layer.
PARAMETER, PLACE = "parameter", "place"


def selected_layer(report: Report) -> str | None:
    """The selected layer, if this network has it."""
    name = st.query_params.get(LAYER)
    return name if any(row.name == name for row in report.layers) else None


def select_layer(name: str, report: Report) -> None:
    """Select a layer, "" for none; histogram and hook laboratory follow."""
    if not any(row.name == name for row in report.layers) or not name:
        st.query_params.pop(LAYER, None)
        return
    st.query_params[LAYER] = name
    st.session_state[PLACE] = name
    own = [p.name for p in report.parameters if p.layer == name and p.grad_norm is not None]
    if own:
        st.session_state[PARAMETER] = own[0]


def select_parameter(name: str, report: Report) -> None:
    """Select a parameter: the histogram shows it, and its layer is selected."""
    parameter = next((p for p in report.parameters if p.name == name), None)
    if parameter is None:
        return
    select_layer(parameter.layer, report)
    if parameter.grad_norm is not None:
        st.session_state[PARAMETER] = name


def clear_selection() -> None:
    """For another network: nothing is selected or unfolded."""
    for name in (LAYER, "open"):
        st.query_params.pop(name, None)
    for name in (PARAMETER, PLACE):
        st.session_state.pop(name, None)


def reset_unless_in(key: str, options: Sequence[str], start: str) -> None:
    """Before a list is drawn: replace its last selection if it is not on this list."""
    if st.session_state.get(key, start) not in options:
        st.session_state[key] = start
