"""Who may see the operator's page: whoever sits at the server, or has its key."""

from __future__ import annotations

import hmac
import os

import streamlit as st

from explorer.ui.common.startup import reader_is_local

#: The environment's variable with the key. A shorter one than this is not used.
VARIABLE, SHORTEST = "EXPLORER_OPERATOR_KEY", 12


def key() -> str:
    """The operator's key; empty if there is none."""
    text = os.environ.get(VARIABLE, "").strip()
    return text if len(text) >= SHORTEST else ""


def is_operator() -> bool:
    """Whether this reader may see the page; otherwise say who may, and ask for the key."""
    if reader_is_local():
        return True
    typed = ""
    if key():
        typed = st.text_input(
            "The operator's key",
            type="password",
            key="operator-key",
            width=360,
            help=f"The value of {VARIABLE} in the server's environment",
        )
    if typed and hmac.compare_digest(typed.encode(), key().encode()):
        return True
    if typed:
        st.error("This is not the operator's key.")
    else:
        st.info(
            "This page is for the operator of the server. It opens on the server's own computer "
            f"(localhost), or with the operator's key: the value of {VARIABLE} in the server's "
            f"environment, of at least {SHORTEST} characters."
        )
    return False
