"""Folded graphs as DOT text, in the colours and fonts of the other graphs."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from explorer.networks.graphs import FoldedGraph, FoldedNode
from explorer.trace.colours import FILLS, LARGEST_VALUE, LINE, REMARK, RGB, TEXT

#: The CSS class of each kind of box in the SVG: the names that all graphs use.
CLASSES = {"module": "block", "repeat": "block", "operation": "function", "parameter": "leaf"}
#: What a graph can be coloured by: white at zero, the full colour at the largest box.
COLOURS: dict[str, tuple[Callable[[FoldedNode], float | None], RGB]] = {
    "MACs": (lambda node: node.macs, LARGEST_VALUE["MACs"]),
    "parameters": (lambda node: node.params, LARGEST_VALUE["parameters"]),
    "gradient norm": (lambda node: node.norm, LARGEST_VALUE["gradient norm"]),
}
_MAX_LENGTH = 48


def folded_dot(graph: FoldedGraph, colour: str | None = None) -> str:
    """The graph as Graphviz source; box number i of `graph.nodes` has the id "n{i}".

    `colour` is a key of `COLOURS`: boxes are then filled in proportion to that number, grey where
    it is not known, and their class says "heat". Unfolded modules are drawn as frames around what
    is in them. Names are escaped for graphviz's HTML labels.
    """
    number = {node.id: i for i, node in enumerate(graph.nodes)}
    lines = [
        "digraph {",
        '  graph [bgcolor="transparent" ranksep="0.2" nodesep="0.25" fontname="monospace"'
        f' fontsize="10" fontcolor="{REMARK}"]',
        '  node [shape="box" style="filled,rounded" fontname="monospace" fontsize="10"'
        f' fontcolor="{TEXT}" color="{LINE}" margin="0.08,0.025" height="0.2"]',
        f'  edge [color="{LINE}" arrowsize="0.7"]',
        *_boxes(graph, number, _fills(graph, colour), colour is not None),
    ]
    for source, target in graph.edges:
        a, b = number[source], number[target]
        lines.append(f'  n{a} -> n{b} [id="n{a}-n{b}"]')
    return "\n".join([*lines, "}"]) + "\n"


def _fills(graph: FoldedGraph, colour: str | None) -> list[str]:
    if colour is None:
        return [FILLS[CLASSES[node.kind]] for node in graph.nodes]
    measure, full = COLOURS[colour]
    values = [measure(node) for node in graph.nodes]
    largest = max((value for value in values if value), default=0) or 1
    return [FILLS["function"] if v is None else _blend(full, v / largest) for v in values]


def _blend(full: RGB, fraction: float) -> str:
    fraction = fraction if 0 <= fraction <= 1 else 1.0  # also for NaN
    return "#" + "".join(f"{round(255 + (c - 255) * fraction):02x}" for c in full)


def _boxes(
    graph: FoldedGraph, number: dict[str, int], fills: list[str], coloured: bool
) -> list[str]:
    """The boxes, nested in one cluster for each unfolded module."""
    inner: dict[tuple[str, ...], list[FoldedNode]] = {}
    for node in graph.nodes:
        for depth in range(len(node.inside) + 1):
            inner.setdefault(node.inside[:depth], [])
        inner[node.inside].append(node)
    paths = sorted(inner)  # a frame comes right before what it encloses
    lines = []
    opened: tuple[str, ...] = ()
    for count, path in enumerate(paths):
        while opened != path[: len(opened)]:
            opened = opened[:-1]
            lines.append("  }")
        if path:
            opened = path
            label = f'label=<{_text(path[-1])}> labeljust="l" style="rounded" color="{LINE}"'
            lines.append(f"  subgraph cluster_{count} {{ {label}")
        for node in inner[path]:
            i = number[node.id]
            kind = CLASSES[node.kind] + (" heat" if coloured else "")
            lines.append(
                f'  n{i} [id="n{i}" class="{kind}" fillcolor="{fills[i]}" label=<{_label(node)}>]'
            )
    return [*lines, *["  }"] * len(opened)]


def _label(node: FoldedNode) -> str:
    rows = [f"<B>{_text(node.name)}</B>"]
    shape = "" if node.output_shape is None else str(node.output_shape).replace(", ", "×")
    if node.type:
        rows.append(f'<FONT COLOR="{REMARK}">{_text(f"{node.type} {shape}".strip())}</FONT>')
    facts = [
        f"{_short(node.params)} parameters" if node.params else "",
        f"{_short(node.macs)} MACs" if node.macs else "",
        "" if node.norm is None else f"gradient norm {node.norm:.4g}",
    ]
    rows += [fact for fact in facts if fact]
    cells = "".join(f'<TR><TD ALIGN="LEFT">{row}</TD></TR>' for row in rows)
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{cells}</TABLE>'


def _short(number: int) -> str:
    """Three digits and a thousands' suffix: 1234567 is "1.23 M"."""
    for size, suffix in ((10**9, " G"), (10**6, " M"), (10**3, " k")):
        if number >= size:
            return f"{number / size:.3g}{suffix}"
    return str(number)


def _text(text: str) -> str:
    clean = "".join(c if c.isprintable() else " " for c in text)
    short = clean if len(clean) <= _MAX_LENGTH else clean[: _MAX_LENGTH - 1] + "…"
    return escape(short, quote=True) or " "
