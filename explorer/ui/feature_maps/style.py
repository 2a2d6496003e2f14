"""The page's own styles, and columns whose parts stand close together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

_CSS = Path(__file__).with_name("feature_maps.css")


def apply() -> None:
    """Once per run, after the frame."""
    st.html(_CSS)


def columns(*shares: float) -> list[Any]:
    """Columns of these shares of the width."""
    return [column.container(gap="xsmall") for column in st.columns(shares, gap="medium")]
