"""One backward pass as an HTML file: the graph, and the walk through it with each step's rule.

It is drawn by the same `graph.js` as on the pages; nothing is fetched, and no server is needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from explorer import limits
from explorer.trace import BackwardPass, Trace
from explorer.view import graphviz
from explorer.view.component import read_script
from explorer.view.drawn_pass import DrawnPass, make_graph
from explorer.view.graph import GRAPH, graph_data
from explorer.view.leaves import node_colours
from explorer.view.mathml import math_html
from explorer.view.rule_names import named_rule
from explorer.view.step import rule_html
from explorer.view.theme import theme_css
from explorer.view.walk import Selection, marks

_STYLE = Path(__file__).with_name("document.css").read_text("utf-8")
_MARKUP = (Path(__file__).parent / "markup.css").read_text("utf-8")
#: Ends a script or begins a comment within one.
_CLOSING = {"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class NotDrawn(Exception):
    """There is no graph that could be drawn; the message says why."""


def document(trace: Trace, number: int = 1) -> str:
    """The pass with this number as HTML. Raises NotDrawn where there is none, where `dot` is not
    installed, or it is too large."""
    shown = next((one for one in trace.passes if one.number == number), None)
    if shown is None:
        raise NotDrawn("There is no such backward pass.")
    drawn = make_graph(trace, shown, saved=False)
    svg = graphviz.svg(drawn.dot)
    if svg is None or len(drawn.nodes) > limits.MAX_NODES:
        raise NotDrawn("graphviz is not installed, or the graph is too large for it.")
    factored = (graphviz.svg(drawn.with_factors) if drawn.with_factors else None) or ""
    colours = node_colours(trace, drawn.nodes)
    frames = [_frame(step, shown, drawn, svg, factored, colours) for step in _steps(shown)]
    return _page(shown, frames)


def _steps(shown: BackwardPass) -> list[int | None]:
    """Before the first step, and the steps of the walk, as many as a file holds."""
    return [None, *range(min(len(shown.steps), limits.DOCUMENT_STEPS))]


def _frame(
    index: int | None,
    shown: BackwardPass,
    drawn: DrawnPass,
    svg: str,
    factored: str,
    colours: Mapping[str, int],
) -> dict[str, Any]:
    """What the browser gets for one step; of the graph itself only with the first."""
    step = None if index is None else shown.steps[index]
    nodes = {node.id: node for node in shown.nodes}
    picked = Selection(None if step is None else nodes.get(step.node), None, index, walking=True)
    data = graph_data(
        svg if step is None else "",
        with_factors=factored if step is None else "",
        key="document",
        height="var(--ax-graph-height)",
        alt=f"Graph of the backward pass from {shown.root}",
        marks=marks(Selection() if step is None else picked, shown, drawn.nodes, drawn.where),
        links=drawn.links,
        colours=colours,
    )
    rule = "" if step is None else _rule(index or 0, shown)
    node = "" if step is None else drawn.where.get(step.node, step.node)
    return data | {"rule": rule, "node": node}


def _rule(index: int, shown: BackwardPass) -> str:
    step = shown.steps[index]
    rule = named_rule(step, shown)
    formulas = "".join(map(math_html, filter(None, (rule.formula, rule.numbers))))
    return f'{rule_html(step, shown, letters=rule.letters)}<div class="rule">{formulas}</div>'


def _page(shown: BackwardPass, frames: list[dict[str, Any]]) -> str:
    data = json.dumps(frames, separators=(",", ":"))
    for sign, safe in _CLOSING.items():
        data = data.replace(sign, safe)
    title = escape(f"Backward from {shown.root}")
    draw = GRAPH.js.replace("export default function", "function drawGraph")
    styles = "\n".join((theme_css(), _MARKUP, GRAPH.css, _STYLE))
    script = f"const FRAMES = {data}\n{draw}\n{read_script(__file__)}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">"
        f"<style>{styles}</style></head><body><main><h1>{title}</h1>"
        f'<div id="graph">{GRAPH.html}</div>'
        '<div id="walk"><button id="before">Previous step</button>'
        '<button id="after">Next step</button><button id="play">Play</button>'
        '<input type="range" id="at" min="0" value="0" aria-label="Step of the backward pass">'
        '<output id="where"></output></div><div id="rule" aria-live="polite"></div></main>'
        f'<script type="module">{script}</script></body></html>'
    )
