"""The report as text: shapes and sizes, the totals as pytorch-summary prints them, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from explorer.networks import Report
from explorer.networks.tree import TreeNode, make_tree, walk
from explorer.ui.widgets.basics import scrolling
from explorer.view.glossary import html
from explorer.view.layer_tree import NOT_COUNTED, to_shape_text

_LAYERS = (
    *("layer", "kind", "depth", "count", "call", "type", "input", "output"),
    *("parameters", "shared", "macs", "bytes"),
    *("output_norm", "dead", "units", "gradient_norm", "parameter_gradient_norm", "why_none"),
)
_PARAMETERS = (
    *("parameter", "layer", "layer_type", "shape", "elements", "dtype", "trainable", "aliases"),
    *("norm", "mean", "std", "gradient_norm", "why_none"),
)


def to_size(count: int) -> str:
    """Bytes in the largest unit that gives a number above 1."""
    for unit, step in (("MB", 2**20), ("kB", 2**10)):
        if count >= step:
            return f"{count / step:.3g} {unit}"
    return f"{count} B"


def figures_table(
    head: Iterable[str], rows: str, name: str, style: str = "", kind: str = ""
) -> str:
    """A table of numbers that scrolls, with these headings and rows of markup; `name` says what it
    is."""
    top = "".join(f"<th>{html(heading)}</th>" if heading else "<td></td>" for heading in head)
    classes = f"ax-plain ax-figures {kind}".strip()
    table = f'<table class="{classes}"><tr>{top}</tr>{rows}</table>'
    return scrolling(table, name, style)


def layers_csv(report: Report) -> bytes:
    """The tree with plain numbers: a row of the kind "block" or "run" (equal blocks) has the sums
    of the rows below it, a row of the kind "layer" what the layer itself does."""
    return _csv(_LAYERS, _layer_rows(report))


def _layer_rows(report: Report) -> Iterator[list[Any]]:
    for depth, node in walk(make_tree(report)):
        if node.row is None or node.children:
            kind = "run" if node.count > 1 else "block"
            yield [
                *(node.path, kind, depth, node.count, None, node.type, None),
                *(to_shape_text(node.output_shape), node.params, node.shared, node.macs),
                *(node.memory, None, None, None, None, node.grad_norm, None),
            ]
        if node.row is not None:
            yield _layer_row(depth, node)


def _layer_row(depth: int, node: TreeNode) -> list[Any]:
    row = node.row
    assert row is not None
    act, grad = row.activation, row.gradient
    return [
        *(row.name, "layer", depth, 1, row.call, row.type),
        *(to_shape_text(row.input_shape), to_shape_text(row.output_shape)),
        *(row.params, row.shared, NOT_COUNTED if row.macs is None else row.macs, row.memory),
        *((act.norm, act.dead, act.units) if act else (None, None, None)),
        *(grad.norm if grad else None, node.own_norm, row.why_none),
    ]


def parameters_csv(report: Report) -> bytes:
    """Every parameter, and why it has no gradient."""
    types = {row.name: row.type for row in report.layers}
    rows = (
        [
            *(p.name, p.layer, types.get(p.layer, ""), to_shape_text(p.shape), p.numel, p.dtype),
            *(p.trainable, " ".join(p.aliases), p.norm, p.mean, p.std, p.grad_norm, p.why_none),
        ]
        for p in report.parameters
    )
    return _csv(_PARAMETERS, rows)


def _csv(heading: Iterable[str], rows: Iterable[Iterable[Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(heading)
    writer.writerows(rows)
    return out.getvalue().encode()
