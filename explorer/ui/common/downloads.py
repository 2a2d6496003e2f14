"""What can be taken home of a run: the graph, the trace, a plain PyTorch script."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from explorer.trace import Trace, to_plain
from explorer.trace.script import script
from explorer.ui.common import render_dot
from explorer.ui.common.widgets import menu


def downloads(trace: Trace, dot: str | None, upstream: Any, *, blind: bool = False) -> None:
    """A menu of files; those of the graph only where there is one. `upstream` is what the run was
    given to start from. `blind` while gradients are hidden: the script would print them."""
    place = menu(
        "Download",
        icon="download",
        key="download",
        help="The graph, all numbers of the run, or a script that prints them",
    )
    if place is None:
        return
    with place:
        if dot is not None:
            graph_files(dot, "graph")
        file(
            "Trace as JSON",
            partial(_json, trace),
            "trace.json",
            "application/json",
            "Every tensor, step and event",
        )
        if not blind:
            file(
                "PyTorch script",
                partial(_script, trace, upstream),
                "program.py",
                "text/x-python",
                "Needs PyTorch alone and prints the same table",
            )


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
    return render_dot.render(dot, kind) or b""


def _script(trace: Trace, upstream: Any) -> bytes:
    return script(trace, upstream=upstream).encode()


def _json(trace: Trace) -> bytes:
    return json.dumps(to_plain(trace)).encode()
