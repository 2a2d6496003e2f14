"""What can be taken home: the table, the graph, a script that prints the same norms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from explorer.networks import Report
from explorer.ui import layout
from explorer.ui.layers import table
from explorer.ui.layers.graph import Drawn
from explorer.ui.layers.settings import Setting, script


def downloads(setting: Setting, report: Report, drawn: Drawn | None) -> None:
    """A menu of files; those of the graph only where there is one."""
    with st.popover(
        "Download",
        icon=":material/download:",
        type="tertiary",
        help="The table, the graph, or a script that prints the same norms",
    ):
        _file("Table as CSV", partial(table.as_csv, report), "layers.csv", "text/csv", _CSV)
        if drawn is not None:
            dot = drawn.dot
            _file("Graph as DOT", dot.encode, "network.dot", "text/vnd.graphviz", _DOT)
            if layout.available():
                for kind, mime in (("svg", "image/svg+xml"), ("png", "image/png")):
                    make = partial(_picture, dot, kind)
                    _file(f"Graph as {kind.upper()}", make, f"network.{kind}", mime, _PICTURE)
        _file(
            "PyTorch script",
            lambda: script(setting).encode(),
            "network.py",
            "text/x-python",
            "Needs PyTorch alone and prints the same norms",
        )


_CSV = "Every column of the table, and why a gradient is None"
_DOT, _PICTURE = "For graphviz", "As graphviz draws it"


def _file(label: str, data: Callable[[], bytes], name: str, mime: str, help: str) -> None:
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
    return layout.render(dot, kind) or b""
