"""How the parts of a page are arranged, and the theme's colours for its styles."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import streamlit as st

_HUES = ("blue", "green", "orange", "red", "gray", "yellow", "violet")
#: The options of `[theme.light]` and `[theme.dark]` that become variables.
NAMES = (
    *("textColor", "backgroundColor", "secondaryBackgroundColor", "borderColor", "linkColor"),
    *(f"{hue}{part}Color" for hue in _HUES for part in ("", "Background", "Text")),
)


def columns(*shares: float) -> list[Any]:
    """Columns with these shares of the width, whose parts stand close together."""
    return [column.container(gap="xsmall") for column in st.columns(shares, gap="medium")]


@cache
def theme_css() -> str:
    """The theme's colours as CSS variables, so that our own styles follow it.

    Streamlit passes its colours to components only. Here they become variables of the whole
    document, `blueTextColor` as `--ax-blue-text`, with the browser choosing between light and
    dark. Dialogs and popovers are outside the app's element, where Streamlit sets no
    colour scheme: there the system's applies, as it does for the theme."""
    rules = "".join(
        f"{variable(name)}: light-dark({_colour('light', name)}, {_colour('dark', name)});"
        for name in NAMES
    )
    return f":root {{ color-scheme: light dark; {rules} }}"


def variable(name: str) -> str:
    """The CSS variable of a theme option."""
    return "--ax-" + re.sub("([A-Z])", r"-\1", name.removesuffix("Color")).lower()


def _colour(theme: str, name: str) -> str:
    return str(st.get_option(f"theme.{theme}.{name}"))
