"""Mounts what `explorer.view` draws: the graph, tables and charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from explorer import limits
from explorer.trace import Node
from explorer.trace.colours import RGB
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.basics import download_entry, renderer, while_drawn
from explorer.view import graphviz
from explorer.view.graph import (
    GRAPH,
    NO_LINKS,
    NO_MARKS,
    Draggable,
    Links,
    Marks,
    describe,
    graph_data,
    legend_html,
    outlined,
)
from explorer.view.plot import PLOTS, Blank, Plot, plots_data
from explorer.view.table import TABLE, Column, Row, table_data

_graph, _table, _plots = renderer(GRAPH), renderer(TABLE), renderer(PLOTS)

#: As high as the window allows: a variable of the page's style.
_HEIGHT = "var(--ax-graph-height)"
_WITHOUT_DOT = 400


@shared(limits.SVG_KEPT)
def _svg(dot: str) -> str | None:
    return graphviz.svg(dot)


def mount_graph(
    dot: str,
    nodes: Sequence[Node],
    *,
    with_factors: str = "",
    key: str,
    head: Any = None,
    marks: Marks = NO_MARKS,
    links: Links = NO_LINKS,
    draggable: Draggable | None = None,
    colours: Mapping[str, int] | None = None,
    alt: str,
    on_choose: Callable[[str | None], None] = lambda node: None,
    names: Mapping[str, str] | None = None,
    on_find: Callable[[str | None], None] | None = None,
) -> None:
    """Draw `dot` as high as the page's style says, or the same `with_factors` where that fits;
    `on_choose` is called with a node's id when the reader picks one.

    A node is picked by a click or from the list of nodes, which goes into the row `head`, if one is
    given. Where the list has other `names` than the nodes drawn, `on_find` is called for it.
    """
    if head is not None:
        with head:
            listed = names or {node.id: describe(node) for node in nodes[: limits.MAX_NODES]}
            _list(
                listed,
                key=f"{key}-list",
                placeholder="Find a node or block" if names else "Choose a node",
                selected=marks.selected,
                on_choose=on_find or on_choose,
            )
    if len(nodes) > limits.MAX_NODES:
        st.info(
            f"This graph has {len(nodes):,} nodes; up to {limits.MAX_NODES} are drawn. "
            "The DOT file contains all of them."
        )
    else:
        drawn = _svg(dot) if graphviz.available() else None
        if drawn is None:
            shown = outlined(dot, marks)
            st.graphviz_chart(shown, width="stretch", height=_WITHOUT_DOT, alt=alt)
        else:
            data = graph_data(
                drawn,
                with_factors=(_svg(with_factors) if with_factors else None) or "",
                key=key,
                height=_HEIGHT,
                alt=alt,
                marks=marks,
                links=links,
                draggable=draggable,
                colours=colours,
            )
            _clickable(data, key, on_choose)


def mount_miniature(dot: str, *, alt: str, height: int) -> None:
    """The graph without selection, scaled to fit; it can be moved and zoomed."""
    drawn = _svg(dot) if graphviz.available() else None
    if drawn is None:
        st.graphviz_chart(dot, width="stretch", height=height, alt=alt)
    else:
        key = "miniature"
        data = graph_data(drawn, key=key, height=f"{height}px", alt=alt, small=True)
        _clickable(data, key, lambda _: None)


def before_error(*keys: str) -> None:
    """Say that the graph is not of the text that failed, and fade it and all else with these keys.
    As the error, this waits until typing has paused."""
    parts = ", ".join(f".st-key-{key}" for key in keys)
    st.html(
        '<div class="ax-note ax-rest">From the run before this error</div>'
        f"<style>{parts} {{ animation: ax-fade 0.2s 0.8s both; }}</style>",
        width="content",
    )


def draw_legend(dot: str, scale: tuple[RGB, str] | None = None) -> None:
    """Name the colours of a graph (`view.graph.legend_html`)."""
    st.html(legend_html(dot, scale), width="stretch")


def graph_files(dot: str, name: str) -> None:
    """A graph as DOT, and as pictures where the `dot` program can draw it."""
    download_entry("Graph as DOT", dot.encode, f"{name}.dot", "text/vnd.graphviz", "For graphviz")
    if graphviz.available():
        for kind, mime in (("svg", "image/svg+xml"), ("png", "image/png")):
            make = partial(_picture, dot, kind)
            download_entry(
                f"Graph as {kind.upper()}", make, f"{name}.{kind}", mime, "As graphviz draws it"
            )


def _picture(dot: str, kind: str) -> bytes:
    return (graphviz.png(dot) if kind == "png" else graphviz.render(dot, kind)) or b""


def _clickable(data: Mapping[str, Any], key: str, on_choose: Callable[[str | None], None]) -> None:
    def chosen() -> None:
        clicked = st.session_state[key].clicked  # a browser may send anything
        if isinstance(clicked, str | None):
            on_choose(clicked or None)

    _graph(key=key, data=data, on_clicked_change=while_drawn(key, chosen))


def _list(
    names: Mapping[str, str],
    *,
    key: str,
    placeholder: str,
    selected: str | None,
    on_choose: Callable[[str | None], None],
) -> None:
    st.session_state[key] = selected if selected in names else None
    st.selectbox(
        "Node",
        list(names),
        format_func=lambda name: names.get(name, name),
        key=key,
        placeholder=placeholder,
        label_visibility="collapsed",
        help="Selects a node, as clicking it does",
        on_change=lambda: on_choose(st.session_state[key]),
        width=210,
    )


def mount_table(
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    key: str,
    label: str,
    total: int,
    selected: int | None = None,
    on_choose: Callable[[int | None], None],
) -> None:
    """Draw the table. `label` names it for screen readers; `on_choose` is called with a row's id,
    or None when the row is deselected."""

    def chosen() -> None:
        clicked = st.session_state[key].clicked  # a browser may send anything
        if type(clicked) is int and any(row.id == clicked for row in rows):
            on_choose(None if clicked == selected else clicked)

    _table(
        key=key,
        data=table_data(columns, rows, label=label, total=total, selected=selected),
        on_clicked_change=while_drawn(key, chosen),
    )


def mount_plots(
    cells: Mapping[str, tuple[Plot | Blank, int]],
    caption: str,
    *,
    key: str,
    again: float | None = None,
    frame: int = 0,
    choose: bool = False,
    on_choose: Callable[[float], None] | None = None,
) -> float | None:
    """Draw them two in a row, with their heights in CSS pixels, and a caption below all. A plot is
    downloaded under its name in `cells`.

    With `again`, so many seconds after the last picture the browser asks for the next: the
    fragment then runs again. `frame` is another number for each picture. With `choose`,
    returns the x of a point that was clicked, in plots that show the values under the pointer;
    `on_choose` is called with it before the page runs again.
    """

    def report_click() -> None:
        at = st.session_state[key].chosen
        if on_choose and isinstance(at, int | float) and abs(at) < 1e15:  # and not 10**400
            on_choose(float(at))

    result = _plots(
        key=key,
        data={
            "cells": plots_data(cells),
            "caption": caption,
            "again": again,
            "frame": frame,
            "chooses": choose or on_choose is not None,
        },
        on_due_change=lambda: None,
        on_chosen_change=while_drawn(key, report_click),
    )
    return result.chosen if isinstance(result.chosen, int | float) else None
