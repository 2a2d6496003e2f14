"""How the parts of a page are arranged, and the styles of a page's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

_UI = Path(__file__).parents[1]


def apply_styles(page: str) -> None:
    """Add the styles of one page, named like its folder; once per run, after the frame."""
    st.html(_UI / page / f"{page}.css")


def columns(*shares: float) -> list[Any]:
    """Columns with these shares of the width, whose parts stand close together."""
    return [column.container(gap="xsmall") for column in st.columns(shares, gap="medium")]
