"""A report on a network as a document: its graph, its layers, and what is unusual about it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from typing import Any

from explorer import limits
from explorer.networks import COLOURS, Report, fold, folded_dot
from explorer.networks.graphs import (
    FoldedGraph,
    FoldedNode,
    blocks,
    boxes_around,
    first_unfolded,
    in_order,
)
from explorer.networks.health import find_health
from explorer.networks.records import Structure
from explorer.networks.tree import extreme_gradients
from explorer.program import ProgramError
from explorer.trace.text import digest, number
from explorer.training.formatting import pluralize
from explorer.view import graphviz
from explorer.view.answers import error_html
from explorer.view.document import page
from explorer.view.glossary import html, term_link
from explorer.view.graph import legend_html
from explorer.view.health import finding_html
from explorer.view.layer_tree import HELP, layer_tree, make_tables, totals
from explorer.view.node_words import in_words
from explorer.view.plot import Axis, Line, Plot, around, plots_data

#: A file has no address to keep in it how the table was left.
_TREE = layer_tree("const keepInAddress = () => {}\n")
_NORMS = 340
_COLOUR, _COLOUR_TERM = "gradient norm", "norm"
#: Most names on the axis of the chart.
_NAMED = 400
#: What a document leaves out, in this order, until it is as small as it has to be.
_BLOCKS, _CHART, _TABLE = "the insides of other blocks", "the chart", "the table of layers"


def report_document(report: Report, *, title: str = "", budget: int | None = None) -> str:
    """The report as one HTML file. With a `budget`, it takes no more than so many bytes in a
    `frame`: of the blocks of its graph as many can be opened as fit."""
    return page.within(budget, _Document(report, title).html, (_BLOCKS, _CHART, _TABLE))


def report_cell(report: Report) -> str:
    """The report as a notebook shows it."""
    still = _Document(report, "").still()
    return page.cell(lambda room: report_document(report, budget=room), still, str(report))


class _Document:
    """All that a document of a report can hold, each made when it is asked for."""

    def __init__(self, report: Report, title: str) -> None:
        self.report, self.title = report, title or report.model
        structure = report.structure
        if structure is not None and not structure.operations and report.error is not None:
            structure = in_order(structure)
        self.structure: Structure | None = structure if structure and structure.operations else None
        self.colour = _COLOUR if any(p.grad_norm is not None for p in report.parameters) else None
        error = report.error
        self.failed: tuple[str, ...] = ()
        if self.structure is not None and error is not None and error.layer:
            self.failed = boxes_around(self.structure, error.layer, error.call or 0)

    def html(self, left_out: Sequence[str], room: int = 0) -> str:
        """Without what is `left_out`; of the layouts as many as take no more than `room`
        characters."""
        others = [one.svg for one in self.laid_out[1:]]
        drawn = others[: page.fitting(others, room)] if _BLOCKS in left_out else others
        if len(drawn) == len(others):
            left_out = [part for part in left_out if part != _BLOCKS]
        data = {
            "graph": self._graph_data(len(drawn)),
            "layers": self._layers() if _TABLE not in left_out else None,
            "plots": self._plots if _CHART not in left_out else (),
        }
        later = {"layouts": "\n".join(drawn)} if drawn else {}
        body = self._body(left_out)
        return page.Page(self.title, body, data, later, {"drawTree": _TREE}, "network").html()

    # -- the page

    def _body(self, left_out: Sequence[str]) -> str:
        report = self.report
        tree = "" if _TABLE in left_out else page.mounted("drawTree", _TREE, "layers")
        chart = page.charts() if _CHART not in left_out and self._plots else ""
        return "".join(
            (
                f"<h1>{escape(self.title)}</h1><p class='ax-note'>{self._summary()}</p>",
                page.left_out(left_out),
                self._error(),
                page.section("Health", *map(finding_html, find_health(report))),
                f'<div id="two">{self._graph()}',
                page.section("Layers", tree, totals(report)) + "</div>",
                page.section("Gradient norm of each parameter", chart),
                page.section("Notes", page.notes(report.notes)),
            )
        )

    def _summary(self) -> str:
        report = self.report
        parts = [f"{pluralize(report.total_params, 'parameter')}", f"{report.total_macs:,} MACs"]
        if report.loss is not None:
            scalar = f"{report.scalar} {number(report.loss)}"
            is_given = report.scalar == "loss"
            parts.insert(0, scalar if is_given else f"no loss given: backward from the {scalar}")
        extremes = extreme_gradients(report)
        if extremes is not None:
            small, large = (f"{p.name} {number(p.grad_norm)}" for p in extremes)
            parts += [f"smallest gradient norm {small}", f"largest {large}"]
        return escape(" · ".join(parts))

    def _error(self) -> str:
        error = self.report.error
        if error is None:
            return ""
        return error_html(ProgramError(error.message, hint=error.hint, detail=error.detail))

    def _graph(self) -> str:
        if self.structure is None:
            reason = "forward failed" if self.report.error else "nothing requires a gradient"
            return page.notes([f"There is no graph, because {reason}."])
        order = (
            ["The calls up to the error, in their order."]
            if self.report.error is not None and not self._has_graph
            else []
        )
        return (
            f'<section id="drawn"><div class="row">{page.SEARCH}<span id="legend">'
            f"{self._legend(self.foldings[0])}</span></div>{page.notes(order)}"
            f"{page.picture(self.laid_out)}"
            "<div class='row' id='foot'></div></section>"
        )

    @property
    def _has_graph(self) -> bool:
        return self.report.structure is not None and bool(self.report.structure.operations)

    # -- the graph

    @cached_property
    def _blocks(self) -> Mapping[str, tuple[str, ...]]:
        return blocks(self.structure) if self.structure else {}

    def _folded(self, unfolded: frozenset[str]) -> FoldedGraph:
        assert self.structure is not None
        return in_words(fold(self.structure, unfolded))

    @cached_property
    def _every(self) -> FoldedGraph:
        return self._folded(frozenset(self._blocks))

    @cached_property
    def foldings(self) -> list[frozenset[str]]:
        """What may be open at a time: as it opens, with one more block, with one less, all closed,
        and all open, as far as there are not too many boxes."""
        if self.structure is None:
            return []
        first = first_unfolded(self.structure) | frozenset(self.failed[:-1])
        more = [first | {name, *around} for name, around in self._blocks.items()]
        less = [self._without(name, first) for name in first]
        wanted = dict.fromkeys([first, *less, frozenset(), *more, frozenset(self._blocks)])
        most = limits.MAX_NODES
        return [one for one in wanted if len(self._folded(one).nodes) <= most][
            : limits.MOST_LAYOUTS
        ]

    def _without(self, name: str, unfolded: frozenset[str]) -> frozenset[str]:
        return frozenset(b for b in unfolded if b != name and name not in self._blocks.get(b, ()))

    def _dot(self, unfolded: frozenset[str]) -> str:
        folded = self._folded(unfolded)
        return folded_dot(folded, self.colour, names=self._ids, failed=self.failed)

    @cached_property
    def _ids(self) -> Mapping[str, str]:
        """Words for DOT, by the ids of boxes: the same in all foldings."""
        names = {**self._blocks, **{node.id: () for node in self._every.nodes}}
        return {name: f"b{digest(name)}" for name in names}

    @cached_property
    def laid_out(self) -> list[page.LaidOut]:
        """Its graph as it opens, and in all other foldings; nothing without the dot program."""
        return page.lay_out(self.foldings, self._dot)

    def still(self) -> str:
        """A picture of it for viewers that show no frames."""
        return (graphviz.svg(self._dot(self.foldings[0])) if self.foldings else None) or ""

    def _legend(self, unfolded: frozenset[str]) -> str:
        if self.colour is None:
            return legend_html(self._dot(unfolded))
        measure, full = COLOURS[self.colour]
        values = [measure(node) for node in self._folded(unfolded).nodes]
        known = [value for value in values if value is not None and math.isfinite(value)]
        span = f" 0 to {number(max(known))}" if known else " not known"
        return legend_html("", (full, html(term_link(_COLOUR_TERM, self.colour), span)))

    def _graph_data(self, count: int) -> dict[str, Any] | None:
        if self.structure is None or not self.laid_out:
            return None
        ids, nodes = self._ids, self._every.nodes
        shown = [one.unfolded for one in self.laid_out[: count + 1]]
        return {
            "unfolded": [[ids[name] for name in sorted(unfolded)] for unfolded in shown],
            "legends": [self._legend(unfolded) for unfolded in shown],
            "blocks": {
                ids[name]: [name, None, [ids[one] for one in around]]
                for name, around in self._blocks.items()
            },
            "around": {ids[n.id]: [ids[one] for one in n.inside] for n in nodes if n.inside},
            "names": {ids[name]: name for name in self._blocks}
            | {ids[n.id]: _called(n) for n in nodes if n.kind in ("module", "parameter")},
            "layers": {ids[n.id]: _layer(n) for n in nodes}
            | {ids[name]: name.partition(" #")[0] for name in self._blocks if "…" not in name},
            "failed": self.report.error.layer if self.failed and self.report.error else None,
        }

    # -- tables and charts

    def _layers(self) -> dict[str, Any]:
        return {"tables": make_tables(self.report), "network": self.title, "help": HELP}

    @cached_property
    def _plots(self) -> tuple[Mapping[str, Any], ...]:
        known = [p for p in self.report.parameters if p.grad_norm is not None]
        if len(known) < 2:
            return ()
        norms = [p.grad_norm or 0.0 for p in known]
        names = tuple(p.name for p in known) if len(known) <= _NAMED else ()
        label = "parameter, in the order of the model"
        axis = Axis(label, -0.5, len(known) - 0.5, names=names, named=True)
        line = Line(range(len(known)), norms, dots=True)
        alt = f"Gradient norms of {len(known)} parameters; the table lists them"
        plot = Plot(axis, around(norms, "gradient norm"), (line,), alt, pointer=True, wide=True)
        return plots_data({"norms": (plot, _NORMS)})


def _called(node: FoldedNode) -> str:
    return f"{node.name} · {node.type}" if node.type else node.name


def _layer(node: FoldedNode) -> str:
    """The layer that a box belongs to."""
    if node.kind == "parameter":
        return node.name.rpartition(".")[0]
    name = node.id if node.kind == "module" else (node.inside[-1] if node.inside else "")
    return name.partition(" #")[0]
