"""The graph: its markup, what the browser gets to draw it, and its legend.

graph.js shows an SVG that `dot` laid out; without `dot` there is only the DOT, in which the marked
nodes are outlined.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from explorer.trace import BackwardPass, Node
from explorer.trace.colours import GRADIENT, HOOK, RGB, SELECTED
from explorer.trace.text import digest
from explorer.view.component import load_component
from explorer.view.glossary import Html, html, term_link
from explorer.view.kept import kept_with_pass

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

GRAPH = load_component(
    __file__,
    """
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
class Move:
    """A gradient on its way along an `edge`: `before` it meets the factor there, the `product`,
    and what arrives `after` it. `factor` is what stands on the edge."""

    edge: str
    before: str
    product: str
    after: str
    factor: str = ""


@dataclass(frozen=True)
class Marks:
    """Ids of what is highlighted: the chosen node, the step's node and the edges it uses.

    The others are painted by graph.js while a reader is `walking`, with the arrows turned: `hidden`
    are the nodes whose gradient is not shown, `arriving` those whose gradient is complete once what
    is `moving` has arrived, and `sums` what stands at nodes meanwhile.
    """

    selected: str | None = None
    current: str | None = None
    active: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    arriving: tuple[str, ...] = ()
    moving: tuple[Move, ...] = ()
    sums: tuple[Sum, ...] = ()
    walking: bool = False


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


def inputs_of(name: str, shown: BackwardPass) -> list[Node]:
    """The nodes of a pass with an edge to the node of this id; an AccumulateGrad has its leaf."""
    return _neighbours(shown)[0].get(name, [])


def users_of(name: str, shown: BackwardPass) -> list[Node]:
    """The nodes of a pass to which the node of this id has an edge."""
    return _neighbours(shown)[1].get(name, [])


@kept_with_pass
def _neighbours(shown: BackwardPass) -> tuple[dict[str, list[Node]], dict[str, list[Node]]]:
    """The inputs and the users of each node, in the order of the nodes of the pass."""
    ways = {(edge.source, edge.target) for edge in shown.edges}
    places = {node.id: place for place, node in enumerate(shown.nodes)}
    inputs: dict[str, list[Node]] = defaultdict(list)
    users: dict[str, list[Node]] = defaultdict(list)
    for place, user in sorted((places[a], b) for a, b in ways if a in places):
        inputs[user].append(shown.nodes[place])
    for place, source in sorted((places[b], a) for a, b in ways if b in places):
        users[source].append(shown.nodes[place])
    return inputs, users


NO_MARKS = Marks()
NO_LINKS = Links()


def graph_data(
    svg: str,
    *,
    with_factors: str = "",
    key: str,
    height: str,
    alt: str,
    marks: Marks = NO_MARKS,
    links: Links = NO_LINKS,
    draggable: Draggable | None = None,
    colours: Mapping[str, int] | None = None,
    still: bool = False,
    small: bool = False,
) -> dict[str, Any]:
    """What the browser gets of a graph laid out as `svg`, and `with_factors`, which it shows where
    they can be read in its frame. The view of the one named `key` stays while its layout is the
    same. A `still` one cannot be moved; a `small` one opens with its words smaller. Tuples: whether
    a list is a table, Streamlit takes long to find. `colours` are those of leaves, by their ids."""
    name = digest(svg + with_factors)
    return {
        "svg": svg,
        "factored": with_factors,
        "digest": name,
        "layout": f"{key}:{name}",
        "height": height,
        "alt": alt,
        "still": still,
        "small": small,
        "selected": marks.selected,
        "current": marks.current,
        "active": marks.active,
        "hidden": marks.hidden,
        "arriving": marks.arriving,
        "walking": marks.walking,
        "moving": tuple(vars(one) for one in marks.moving),
        "sums": tuple(vars(one) for one in marks.sums),
        "places": {name: list(place) for name, place in links.places.items()},
        "notes": dict(links.notes),
        "colours": dict(colours or {}),
        "draggable": {
            name: list(map(dict, numbers)) for name, numbers in (draggable or {}).items()
        },
    }


def outlined(dot: str, marks: Marks) -> str:
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


def legend_html(dot: str, scale: tuple[RGB, str] | None = None) -> Html:
    """The names of the colours of the kinds of node a graph has; for one coloured by a number, the
    `scale`: its full colour, and what that means (text, or `glossary.Html`)."""
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


def describe(node: Node, place: Callable[[int], str] = "line {}".format) -> str:
    """One line for the list: the reader's name, the function, the `place` of its line."""
    parts = [node.label, node.name] if node.label and node.label != node.name else [node.name]
    where = [place(node.line)] if node.line and node.kind != "block" else []
    return " · ".join(parts + where)
