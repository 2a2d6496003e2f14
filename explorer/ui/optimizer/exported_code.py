"""The PyTorch code performed so far, to copy and to take home."""

from __future__ import annotations

import streamlit as st

from explorer.language import ProgramRefused
from explorer.ui.common.errors import program_error
from explorer.ui.optimizer.workspace import Workspace


def code_button(space: Workspace) -> None:
    """A button that opens the code."""
    if st.button("Code", icon=":material/code:", key="code", help="All presses so far as a script"):
        _show(space)


@st.dialog("The code so far", width="large")
def _show(space: Workspace) -> None:
    try:
        text = space.script()
    except ProgramRefused as refused:
        program_error(refused.error)
        return
    st.html('<div class="ax-note">It needs PyTorch alone and ends with the same numbers.</div>')
    st.code(text, height=420, wrap_lines=True)
    st.download_button(
        "Download",
        text,
        "steps.py",
        "text/x-python",
        icon=":material/download:",
        on_click="ignore",
        help="The script as a file",
    )
