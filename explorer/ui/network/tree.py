"""The layers as a tree that folds, sorts and filters in the browser, and the parameters one by
one."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explorer.ui.network.selection import Shown
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.basics import renderer, while_drawn
from explorer.ui.widgets.copy_link import ADDRESS
from explorer.view import layer_tree
from explorer.view.layer_tree import HELP, totals

_component = renderer(layer_tree.layer_tree(ADDRESS))
make_tables = shared(16 * 2**20)(layer_tree.make_tables)

#: Tells the tree which layer is selected. Of its own, because the tree's rows are not sent again as
#: long as nothing about them changes: Streamlit then sends a reference.
_selection = st.components.v2.component(
    "selected_layer",
    html="<span hidden></span>",
    js="""
export default function ({ data }) {
  window.axLayer = data.layer
  window.dispatchEvent(new Event("ax-layer"))
}
""",
)


def draw_layers(shown: Shown) -> None:
    """Draw the table and the totals. Choosing the selected layer again selects none."""
    report, selected_layer = shown.report, shown.layer

    def choose(name: object, select: Callable[[str], None]) -> None:
        if isinstance(name, str):  # the browser may say anything
            select("" if name == selected_layer else name)

    def on_layer() -> None:
        choose(st.session_state["layers"].layer, shown.select_layer)

    def on_parameter() -> None:
        choose(st.session_state["layers"].parameter, shown.select_parameter)

    tables = make_tables(report)
    _component(
        key="layers",
        data={
            "tables": tables,
            "network": f"{report.model} {len(tables['Layers']['rows'])} {report.total_params}",
            "help": HELP,
        },
        on_layer_change=while_drawn("layers", on_layer),
        on_parameter_change=while_drawn("layers", on_parameter),
    )
    _selection(key="selected-layer", data={"layer": selected_layer})
    st.html(totals(report))
