"""The switch below the graph: one of several views of the same run."""

from __future__ import annotations

import streamlit as st

#: In the order of the switch. The title also stands in the address (`?panel=`).
PANELS = {
    "tensors": "Table",
    "step": "Step",
    "tensor": "Detail",
    "events": "Events",
    "check": "Check",
    "memory": "Memory",
}
#: Those that tell no gradient.
BLIND = ("tensors", "tensor")
KEY = "panel"


def switch(*, blind: bool = False) -> str:
    """Draw the switch; return the key of the panel to show. `blind` while gradients are hidden."""
    offered = BLIND if blind else tuple(PANELS)
    if st.session_state.get(KEY) not in offered:
        st.session_state.pop(KEY, None)
    return st.segmented_control(
        "Show",
        offered,
        default=offered[0],
        required=True,
        format_func=PANELS.__getitem__,
        key=KEY,
        bind="query-params",
        label_visibility="collapsed",
        help="Table: all tensors. Step: one node of the backward pass. Detail: one tensor. "
        "Events: hooks, zero_grad, step. Check: gradients against slopes. Memory: hooks against "
        "retain_grad.",
    )
