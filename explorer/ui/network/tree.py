"""The layers as a tree that folds, sorts and filters in the browser, and the parameters one by
one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from explorer import limits
from explorer.networks import Report
from explorer.networks.records import LayerRecord, ParameterRecord
from explorer.networks.statistics import Statistics
from explorer.networks.tree import TreeNode, extreme_gradients, make_tree, walk
from explorer.ui.network.selection import Shown
from explorer.ui.network.table import NOT_COUNTED, to_shape_text, totals
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.basics import while_drawn
from explorer.ui.widgets.copy_link import ADDRESS
from explorer.view.component import SHARED

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "layer_tree",
    html="""
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
""",
    css=(_HERE / "tree.css").read_text(encoding="utf-8"),
    js=SHARED + ADDRESS + (_HERE / "tree.js").read_text("utf-8"),
)

#: Tells the tree which layer is selected. Of its own, because the tree's rows are not sent again as
#: long as nothing about them changes: Streamlit then sends a reference.
_selection = st.components.v2.component(
    "selected_layer",
    html="<span hidden></span>",
    js="""
export default function ({ data }) {
  window.axLayer = data.layer
  window.dispatchEvent(new Event("ax-layer"))
}
""",
)

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
_HELP = (
    "Arrow keys go from row to row, unfold and fold; Enter chooses. Headings sort: ascending, "
    "descending, then back to the order of execution."
)


def draw_layers(shown: Shown) -> None:
    """Draw the table and the totals. Choosing the selected layer again selects none."""
    report, selected_layer = shown.report, shown.layer

    def choose(name: object, select: Callable[[str], None]) -> None:
        if isinstance(name, str):  # the browser may say anything
            select("" if name == selected_layer else name)

    def on_layer() -> None:
        choose(st.session_state["layers"].layer, shown.select_layer)

    def on_parameter() -> None:
        choose(st.session_state["layers"].parameter, shown.select_parameter)

    tables = make_tables(report)
    _component(
        key="layers",
        data={
            "tables": tables,
            "network": f"{report.model} {len(tables['Layers']['rows'])} {report.total_params}",
            "help": _HELP,
        },
        on_layer_change=while_drawn("layers", on_layer),
        on_parameter_change=while_drawn("layers", on_parameter),
    )
    _selection(key="selected-layer", data={"layer": selected_layer})
    st.html(totals(report))


@shared(16 * 2**20)
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
