"""The graph on the screen: clickable if `dot` is installed, otherwise drawn by the browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

from explorer.trace import MAX_NODES, Node, render_dot
from explorer.trace.colours import GRADIENT, HOOK, RGB, SELECTED
from explorer.ui.common.glossary import Html, html, term_link
from explorer.ui.common.shared_cache import shared
from explorer.ui.common.widgets import while_drawn

#: Each kind of node as the legend calls it.
_LEGEND: dict[str, str] = {
    "leaf": term_link("leaf", "leaf"),
    "function": term_link("operation", "operation"),
    "output": term_link("scalar", "output"),
    "saved": term_link("saved", "saved for backward"),
    "base": term_link("view", "base of a view"),
    "block": "folded block",
    "frozen": term_link("requires_grad", "no gradient"),
}

#: Words of a graph are escaped, so quotes stand around attributes only.
_FILLED = re.compile(r'^(  (\w+) \[id=.*? fillcolor="(.*?)".*)$', re.M)
_COLOURED = re.compile(f'COLOR="({GRADIENT}|{HOOK})"')
_KIND = re.compile(r'class="(\w+)')

_HERE = Path(__file__).parent
#: In this order they are one script; the last is the component.
_SCRIPTS = ("graph_view", "graph_live", "graph_walk", "graph")
_component = st.components.v2.component(
    "autograd_graph",
    html="""
<div class="box">
  <div class="canvas"></div>
  <div class="tools">
    <button class="in" title="Zoom in" aria-label="Zoom in">+</button>
    <button class="out" title="Zoom out" aria-label="Zoom out">−</button>
    <button class="all" title="Show the whole graph">Fit</button>
  </div>
  <div class="hint" aria-hidden="true"></div>
</div>
""",
    css=(_HERE / "graph.css").read_text(encoding="utf-8"),
    js="".join((_HERE / f"{name}.js").read_text("utf-8") for name in _SCRIPTS),
)


@dataclass(frozen=True)
class Sum:
    """What stands at a node: `before` the moving texts arrive, the `parts` once they have, and
    then the `total`. If nothing is `added`, only where the node shows no gradient of its own."""

    node: str
    before: str
    parts: str
    total: str
    added: bool


@dataclass(frozen=True)
class Marks:
    """Ids of what is highlighted: the chosen node, the step's node and the edges it uses.

    The others are painted by graph_walk.js: `hidden` are the nodes whose gradient is not shown,
    `arriving` those whose gradient is complete once the texts `moving` along edges (by the edge's
    id) have arrived, and `sums` what stands at nodes meanwhile.
    """

    selected: str | None = None
    current: str | None = None
    active: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    arriving: tuple[str, ...] = ()
    moving: tuple[tuple[str, str], ...] = ()
    sums: tuple[Sum, ...] = ()


@dataclass(frozen=True)
class Links:
    """What nodes have to do with the rest of the page, by their ids.

    `places` are the tensor's id and the line: hovering marks the three in graph, table and
    program. `notes` are sentences about the tensor's hooks.
    """

    places: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


#: By the id of a leaf: which numbers of the program it shows. Each is the target of the event
#: `ax-drag`, with its `value`, `at` which line and number of the label it is, and the `step` of a
#: key where that does not follow from the value.
Draggable = Mapping[str, Sequence[Mapping[str, Any]]]

#: As high as the window allows: a variable of the page's style.
_HEIGHT = "var(--ax-graph-height)"
_WITHOUT_DOT = 400
_NONE = Marks()
_NO_LINKS = Links()


@shared(16 * 2**20)
def _svg(dot: str) -> str | None:
    return render_dot.svg(dot)


def graph(
    dot: str,
    nodes: Sequence[Node],
    *,
    key: str,
    head: Any = None,
    marks: Marks = _NONE,
    links: Links = _NO_LINKS,
    draggable: Draggable | None = None,
    alt: str,
    on_choose: Callable[[str | None], None] = lambda node: None,
) -> None:
    """Draw `dot` as high as the page's style says; `on_choose` is called with a node's id when the
    reader picks one.

    A node is picked by a click or from the list of nodes, which goes into the row `head`, if one is
    given.
    """
    if head is not None:
        with head:
            listed = nodes[:MAX_NODES]
            _list(listed, key=f"{key}-list", selected=marks.selected, on_choose=on_choose)
    if len(nodes) > MAX_NODES:
        st.info(
            f"This graph has {len(nodes):,} nodes; up to {MAX_NODES} are drawn. "
            "The DOT file contains all of them."
        )
    else:
        drawn = _svg(dot) if render_dot.available() else None
        if drawn is None:
            outlined = _outlined(dot, marks)
            st.graphviz_chart(outlined, width="stretch", height=_WITHOUT_DOT, alt=alt)
        else:
            data = _data(marks, links, draggable or {})
            _clickable(drawn, data, key=key, alt=alt, on_choose=on_choose)


def miniature(dot: str, *, alt: str, height: int, zoom: bool = False) -> None:
    """The graph without selection, scaled to fit; with `zoom` it can be moved and zoomed."""
    drawn = _svg(dot) if render_dot.available() else None
    if drawn is None:
        st.graphviz_chart(dot, width="stretch", height=height, alt=alt)
    else:
        chosen = (lambda _: None) if zoom else None
        data = _data(_NONE, _NO_LINKS, {}) | {"small": True}
        size = f"{height}px"
        _clickable(drawn, data, key="miniature", height=size, alt=alt, on_choose=chosen)


def before_error(*keys: str) -> None:
    """Say that the graph is not of the text that failed, and fade it and all else with these keys.
    As the error, this waits until typing has paused."""
    parts = ", ".join(f".st-key-{key}" for key in keys)
    st.html(
        '<div class="ax-note ax-rest">From the run before this error</div>'
        f"<style>{parts} {{ animation: ax-fade 0.2s 0.8s both; }}</style>",
        width="content",
    )


def legend(dot: str, scale: tuple[RGB, str] | None = None) -> None:
    """Name the colours of the kinds of node a graph has; for one coloured by a number, the `scale`:
    its full colour, and what that means (text, or `glossary.Html`)."""
    st.html(legend_html(dot, scale), width="stretch")


def legend_html(dot: str, scale: tuple[RGB, str] | None = None) -> Html:
    """The same as markup."""
    kinds = set(_KIND.findall(dot))
    items = [
        f'<span><i class="ax-{kind}"></i>{name}</span>'
        for kind, name in _LEGEND.items()
        if kind in kinds
    ]
    if scale is not None:
        colour, name = scale
        fill = f"linear-gradient(to right, white, rgb{colour})"
        items = [f'<span><i class="ax-scale" style="background:{fill}"></i>{html(name)}</span>']
    return Html(f'<div class="ax-legend">{"".join(items)}</div>')


def describe(node: Node) -> str:
    """One line for the list: the reader's name, the function, the line."""
    parts = [node.label, node.name] if node.label and node.label != node.name else [node.name]
    where = [f"line {node.line}"] if node.line and node.kind != "block" else []
    return " · ".join(parts + where)


def _data(marks: Marks, links: Links, draggable: Draggable) -> dict[str, Any]:
    """What the component gets. Tuples: whether a list is a table, Streamlit takes long to find."""
    return {
        "selected": marks.selected,
        "current": marks.current,
        "active": marks.active,
        "hidden": marks.hidden,
        "arriving": marks.arriving,
        "moving": marks.moving,
        "sums": tuple(vars(one) for one in marks.sums),
        "places": {name: list(place) for name, place in links.places.items()},
        "notes": dict(links.notes),
        "draggable": {name: list(map(dict, numbers)) for name, numbers in draggable.items()},
    }


def _clickable(
    svg: str,
    data: Mapping[str, Any],
    *,
    key: str,
    height: str = _HEIGHT,
    alt: str,
    on_choose: Callable[[str | None], None] | None,
) -> None:
    def chosen() -> None:
        clicked = st.session_state[key].clicked  # a browser may send anything
        if on_choose and isinstance(clicked, str | None):
            on_choose(clicked or None)

    name = render_dot.digest(svg)
    _component(
        key=key,
        data={
            "svg": svg,
            "digest": name,
            "layout": f"{key}:{name}",
            "height": height,
            "alt": alt,
            "still": on_choose is None,
            "small": False,
            **data,
        },
        on_clicked_change=while_drawn(key, chosen),
    )


def _outlined(dot: str, marks: Marks) -> str:
    """The DOT with the marked nodes outlined, as a later statement for a node adds to the first,
    and with the hidden gradients in the colour of their boxes."""

    def hide(match: re.Match[str]) -> str:
        line, name, fill = match.groups()
        return _COLOURED.sub(f'COLOR="{fill}"', line) if name in marks.hidden else line

    dot = _FILLED.sub(hide, dot) if marks.hidden else dot
    chosen = {marks.selected, marks.current} - {None}
    extra = "".join(
        f'"{name}" [color="{SELECTED}" penwidth=2.5]\n' for name in sorted(chosen, key=str)
    )
    end = dot.rstrip().rfind("}")
    return dot if end < 0 or not extra else f"{dot[:end]}{extra}}}\n"


def _list(
    nodes: Sequence[Node],
    *,
    key: str,
    selected: str | None,
    on_choose: Callable[[str | None], None],
) -> None:
    names = {node.id: describe(node) for node in nodes}
    st.session_state[key] = selected if selected in names else None
    st.selectbox(
        "Node",
        list(names),
        format_func=lambda name: names.get(name, name),
        key=key,
        placeholder="Choose a node",
        label_visibility="collapsed",
        help="Selects a node, as clicking it does",
        on_change=lambda: on_choose(st.session_state[key]),
        width=210,
    )
