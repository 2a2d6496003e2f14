"""Why a network could not run to its end, as a reader sees it."""

from __future__ import annotations

from html import escape

import streamlit as st

from explorer.networks import LayerError


def fault(error: LayerError | None) -> None:
    """What was wrong, where, what to do, and torch's own words."""
    if error is None:
        return
    hint = f'<div class="ax-hint">{escape(error.hint)}</div>' if error.hint else ""
    st.html(
        f'<div class="ax-error" role="alert"><b>{escape(error.message)}</b>{hint}'
        "<details><summary>In the words of torch</summary>"
        f"<code>{escape(error.detail)}</code></details></div>"
    )
