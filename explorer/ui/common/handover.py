"""Handing the program over to the Optimizer page."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from explorer.trace import Trace
from explorer.training.split import split
from explorer.ui.common import frame

#: Where the Optimizer page finds {"setup": text, "loss": text}.
KEY = "step_program"


def step_button(trace: Trace) -> None:
    """Offer to step the program, where there is a page for it and a loss to go down."""
    page = next((p for p in frame.PAGES if p.key == "optimizer"), None)
    parts = split(trace) if page else None
    if page is None or parts is None:
        return
    if st.button(
        "Step this program",
        icon=page.icon,
        type="tertiary",
        help=f"Open it on the {page.title} page",
    ):
        st.session_state[KEY] = asdict(parts)
        st.switch_page(page.file)
