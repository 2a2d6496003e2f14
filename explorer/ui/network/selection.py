"""What the parts of the page show: a network's run and the selected layer, which the graph, the
table, the bars, the histogram and the hooks share. And the lists that choose among its names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st

from explorer.networks import Report
from explorer.networks.runs import InspectedNetwork
from explorer.networks.settings import PresetFacts, Settings

T = TypeVar("T")

#: The query parameter with the layer's name.
LAYER = "at"
#: The widgets whose selection follows the layer.
PARAMETER, PLACE = "parameter", "place"


@dataclass(frozen=True)
class Shown:
    """A network with its settings, and the report on its run. `inspected` is the same report with
    histograms, None while only structure and cost are known."""

    settings: Settings
    facts: PresetFacts
    report: Report
    inspected: InspectedNetwork | None

    @property
    def layer(self) -> str | None:
        """The selected layer, if this network has it."""
        name = st.query_params.get(LAYER)
        return name if any(row.name == name for row in self.report.layers) else None

    def select_layer(self, name: str) -> None:
        """Select a layer, "" for none; histogram and hook laboratory follow."""
        if not any(row.name == name for row in self.report.layers) or not name:
            st.query_params.pop(LAYER, None)
            return
        st.query_params[LAYER] = name
        st.session_state[PLACE] = name
        parameters = self.report.parameters
        own = [p.name for p in parameters if p.layer == name and p.grad_norm is not None]
        if own:
            st.session_state[PARAMETER] = own[0]

    def select_parameter(self, name: str) -> None:
        """Select a parameter: the histogram shows it, and its layer is selected."""
        parameter = next((p for p in self.report.parameters if p.name == name), None)
        if parameter is None:
            return
        self.select_layer(parameter.layer)
        if parameter.grad_norm is not None:
            st.session_state[PARAMETER] = name


def clear_selection() -> None:
    """For another network: nothing is selected or unfolded."""
    for name in (LAYER, "open"):
        st.query_params.pop(name, None)
    for name in (PARAMETER, PLACE):
        st.session_state.pop(name, None)


def pick(
    label: str,
    key: str,
    options: Sequence[T],
    help: str,
    *,
    start: T | None = None,
    width: int = 220,
    labelled: bool = False,
    format_func: Callable[[Any], str] = str,
) -> T:
    """One of a list, kept in the link: `start`, or the first, unless chosen otherwise. A choice
    that is no longer on the list is replaced by it."""
    first = options[0] if start is None else start
    if st.session_state.get(key, first) not in options:
        st.session_state[key] = first
    chosen = st.selectbox(
        label,
        options,
        options.index(first),
        format_func=format_func,
        key=key,
        bind="query-params",
        label_visibility="visible" if labelled else "collapsed",
        help=help,
        width=width,
    )
    return chosen if chosen in options else first
