"""The layers of a report as a tree that folds, sorts and filters in the browser, the parameters one
by one, and the totals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explorer import limits
from explorer.networks import Report
from explorer.networks.records import LayerRecord, ParameterRecord, Shapes
from explorer.networks.statistics import Statistics
from explorer.networks.tree import TreeNode, extreme_gradients, make_tree, walk
from explorer.view.component import Component, load_component
from explorer.view.glossary import html, term_link

NOT_COUNTED = "not counted"


def layer_tree(address: str) -> Component:
    """The component; the script `address` says how it keeps what it shows (`keepInAddress`)."""
    return load_component(__file__, _MARKUP, before=address)


_MARKUP = """
<div class="bar">
<span class="kinds" role="group" aria-label="Rows">
<button type="button" title="A row for each layer, inside its block">Layers</button>
<button type="button" title="A row for each parameter">Parameters</button>
</span>
<input type="search" aria-label="Filter by name or type" placeholder="Filter by name or type"
 title="Shows the rows whose name or type contains this text">
<button type="button" class="unfold" title="Unfolds or folds every block"></button>
<span class="counted" role="status"></span>
</div>
<div class="frame"><table><thead></thead><tbody></tbody></table></div>
"""

Cell = int | float | str | None


@dataclass(frozen=True)
class TreeColumn:
    """A column: its heading, what it means, and its `style`, which says how a number is written.
    `term` is a word of the heading and the glossary's key for it. In the `marked` column the
    smallest and the largest number have tags."""

    title: str
    help: str = ""
    style: str = "text"
    term: tuple[str, str] | None = None
    marked: bool = False


LAYER_COLUMNS = (
    TreeColumn("Layer", "The module's name; #2 is a second call of the same module"),
    TreeColumn("Type", "The module's class; × counts equal blocks in a row"),
    TreeColumn("Input", "Shape; the first number counts the samples", "shape"),
    TreeColumn("Output", "Shape; the first number counts the samples", "shape"),
    TreeColumn("Params", "Number of elements; shared parameters count once", "count"),
    TreeColumn("MACs", "Multiply-adds of one forward pass, without biases", "count"),
    TreeColumn("Memory", "Size of the output; of a block, of all outputs inside", "bytes"),
    TreeColumn("Output norm", "Euclidean norm of the output", "number", ("norm", "norm")),
    TreeColumn(
        "Dead units",
        "Channels or features that are 0 for every sample and position",
        "part",
        ("Dead", "dead"),
    ),
    TreeColumn(
        "Gradient of output",
        "Norm of the gradient of the loss with respect to the output",
        "number",
        ("Gradient", "gradient"),
    ),
    TreeColumn(
        "Gradient of params",
        "Norm of the gradients of the parameters; of a block, of all parameters inside",
        "number",
        ("Gradient", "gradient"),
    ),
)
PARAMETER_COLUMNS = (
    TreeColumn("Parameter", "The parameter's name"),
    TreeColumn("Layer type", "The class of the layer that holds it"),
    TreeColumn("Shape", "Its shape", "shape"),
    TreeColumn("Elements", "Number of elements", "count"),
    TreeColumn("Norm", "Euclidean norm of the parameter", "number"),
    TreeColumn("Mean", "Mean of its elements", "number"),
    TreeColumn("Std", "Standard deviation of its elements", "number"),
    TreeColumn(
        "Gradient norm",
        "Euclidean norm of its gradient",
        "number",
        ("Gradient", "gradient"),
        marked=True,
    ),
    TreeColumn(
        "Gradient / norm",
        "Norm of the gradient divided by that of the parameter: times the learning rate, how far a "
        "step of SGD moves it",
        "number",
    ),
)
HELP = (
    "Arrow keys go from row to row, unfold and fold; Enter chooses. Headings sort: ascending, "
    "descending, then back to the order of execution."
)


def make_tables(report: Report) -> dict[str, Any]:
    """Both tables for the browser: columns, rows, and the rows that have tags: of parameters alone,
    so that "smallest" means the same on the whole page.

    A row has its depth; its full name; where in that its label begins, or the label; what it
    selects, a name or True for its full name (None for a block, which only calls others); whether
    it unfolds; the cells; a note; the glossary's key for that; and, of a block that has parameters
    itself, its cells without those inside. The rows of densenet201 take 180 kB.
    """
    lines = list(walk(make_tree(report)))
    parameters, types = report.parameters, {row.name: row.type for row in report.layers}
    return {
        "Layers": {
            "columns": [vars(column) for column in LAYER_COLUMNS],
            "rows": [_layer_row(*line, report) for line in lines[: limits.MOST_TREE_ROWS]],
            "extremes": {},
            "rest": _rest(len(lines)),
        },
        "Parameters": {
            "columns": [vars(column) for column in PARAMETER_COLUMNS],
            "rows": [_parameter_row(p, types, report) for p in parameters[: limits.MOST_TREE_ROWS]],
            "extremes": _extremes(report),
            "rest": _rest(len(parameters)),
        },
    }


def _rest(count: int) -> str:
    return (
        f"The first {limits.MOST_TREE_ROWS:,} of {count:,} rows."
        if count > limits.MOST_TREE_ROWS
        else ""
    )


def _extremes(report: Report) -> dict[str, int]:
    """The rows of the parameters with the smallest and the largest norm of a gradient."""
    extremes = extreme_gradients(report)
    if extremes is None or extremes[0] is extremes[1]:
        return {}
    rows = map(report.parameters.index, extremes)
    marked = zip(("smallest", "largest"), rows, strict=True)
    return {mark: row for mark, row in marked if row < limits.MOST_TREE_ROWS}


def _layer_row(depth: int, node: TreeNode, report: Report) -> list[Any]:
    row = node.row
    own = _cells(node, row, node.own_norm, report) if row and node.children else None
    note = ""
    if (
        row
        and report.error is None
        and (row.call is None or (row.gradient is None and _is_known(report)))
    ):
        note = f"{row.why_none}." if row.why_none else ""
    line = [
        depth,
        node.path,
        len(node.path) - len(node.label) if node.path.endswith(node.label) else node.label,
        None if row is None else row.name if row.name != node.path else True,
        int(bool(node.children)),
        _cells(node, node, node.grad_norm, report),
        note,
        "unused" if note and row and row.call is None else "",
        own,
    ]
    return _short(line)


def _short(line: list[Any]) -> list[Any]:
    """Without what is empty at its end."""
    while not line[-1]:
        line.pop()
    return line


def _is_known(report: Report) -> bool:
    """Whether a gradient that is not there will not come: on meta nothing has been computed yet."""
    return report.loss is not None or report.error is not None


def _cells(
    node: TreeNode, counted: TreeNode | LayerRecord, norm: float | None, report: Report
) -> list[Cell]:
    """The cells with the counts of the node or of its own row alone."""
    row = node.row
    act, grad = (row.activation, row.gradient) if row else (None, None)
    none = "None" if row and _is_known(report) else None
    expected = row is not None and not row.call and row.params + row.shared > 0
    return [
        f"{node.count} × {node.type}" if node.count > 1 else node.type,
        to_shape_text(row.input_shape) if row else "",
        to_shape_text(node.output_shape),
        counted.params if counted.params or not counted.shared else "shared",
        NOT_COUNTED if counted.macs is None and not node.children else counted.macs,
        counted.memory if node.output_shape is not None else None,
        _norm(act),
        None if act is None or act.dead is None else f"{act.dead}/{act.units}",
        none if grad is None else _norm(grad),
        _finite(norm) if norm is not None else none if expected else None,
    ]


def _parameter_row(p: ParameterRecord, types: Mapping[str, str], report: Report) -> list[Any]:
    none = "None" if _is_known(report) else None
    ratio = p.grad_norm / p.norm if p.grad_norm is not None and p.norm else None
    cells: list[Cell] = [
        types.get(p.layer, ""),
        to_shape_text(p.shape),
        p.numel,
        *map(_finite, (p.norm, p.mean, p.std)),
        none if p.grad_norm is None else _finite(p.grad_norm),
        _finite(ratio),
    ]
    note = f"{p.why_none}." if p.why_none and report.error is None else ""
    return _short([0, p.name, 0, True, 0, cells, note])


def _norm(statistics: Statistics | None) -> Cell:
    """The norm, or how many elements are not finite."""
    if statistics is None:
        return None
    if statistics.nonfinite:
        return f"{statistics.nonfinite:,} nan/inf"
    return _finite(statistics.norm)


def _finite(value: float | None) -> Cell:
    """The four digits that are shown, as in the graph: rounded twice, a number may come out as
    another. As text if it is not finite, which JSON has no number for."""
    if value is None or not math.isfinite(value):
        return None if value is None else str(value)
    return float(f"{value:.4g}")


def to_shape_text(value: Shapes | None) -> str:
    """1×3×224×224; several tensors one after the other."""
    if value is None:
        return ""
    several = [part for part in value if isinstance(part, tuple)]
    return ", ".join(map(_shape, several)) if several else _shape(value)


def _shape(value: tuple[object, ...]) -> str:
    return "×".join(map(str, value)) or "()"


def totals(report: Report) -> str:
    """The totals below the table, and how they are counted."""
    m = report.memory
    fixed = report.total_params - report.trainable_params
    pairs = (
        ("Total params", f"{report.total_params:,}"),
        ("Trainable params", f"{report.trainable_params:,}"),
        ("Non-trainable params", f"{fixed:,}"),
        ("Total MACs", f"{report.total_macs:,}"),
        ("Input size", _size(m.input)),
        ("Forward/backward pass size", _size(m.forward_backward)),
        ("Params size", _size(m.parameters)),
        ("Estimated total size", _size(m.total)),
    )
    cells = "".join(f"<span>{name} <b>{value}</b></span>" for name, value in pairs)
    convention = html(
        term_link("macs"),
        " are multiply-adds of matrix products and convolutions, without biases, for the whole "
        "batch; “not counted” means that a layer computes neither. 1 kB is 2¹⁰ bytes, 1 MB 2²⁰.",
    )
    return f'<div class="ax-totals">{cells}</div><div class="ax-note">{convention}</div>'


def _size(megabytes: float) -> str:
    size = round(megabytes * 2**20)
    for unit, step in (("MB", 2**20), ("kB", 2**10)):
        if size >= step:
            return f"{size / step:,.2f} {unit}"
    return f"{size} B"
