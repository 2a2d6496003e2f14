"""Entries of a download menu: a file, and a graph as files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from explorer.trace import render_dot


def graph_files(dot: str, name: str) -> None:
    """A graph as DOT, and as pictures where the `dot` program can draw it."""
    file("Graph as DOT", dot.encode, f"{name}.dot", "text/vnd.graphviz", "For graphviz")
    if render_dot.available():
        for kind, mime in (("svg", "image/svg+xml"), ("png", "image/png")):
            make = partial(_picture, dot, kind)
            file(f"Graph as {kind.upper()}", make, f"{name}.{kind}", mime, "As graphviz draws it")


def file(label: str, data: Callable[[], bytes], name: str, mime: str, help: str) -> None:
    """An entry of a menu of files; `data` is called when it is pressed."""
    st.download_button(
        label,
        data,
        name,
        mime,
        key=f"download-{name}",
        on_click="ignore",
        width="stretch",
        help=help,
    )


def _picture(dot: str, kind: str) -> bytes:
    return (render_dot.png(dot) if kind == "png" else render_dot.render(dot, kind)) or b""
