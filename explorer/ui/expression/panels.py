"""The switch below the graph: one of several views of the same run."""

from __future__ import annotations

import streamlit as st

#: In the order of the switch. The title also stands in the address (`?panel=`).
PANELS = {
    "tensors": "Tensors",
    "step": "Step",
    "tensor": "Tensor",
    "events": "Events",
    "check": "Gradient check",
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
        help="Tensors: all of them in a table. Step: one node of the backward pass. Tensor: one in "
        "detail. Events: hooks, zero_grad, step. Gradient check: compare with measured slopes. "
        "Memory: hooks and retain_grad compared.",
    )
