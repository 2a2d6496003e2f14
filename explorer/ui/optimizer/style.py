"""The page's own styles."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_CSS = Path(__file__).with_name("optimizer.css")


def apply() -> None:
    """Once per run, after the frame."""
    st.html(_CSS)
