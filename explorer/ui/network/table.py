"""The table of layers, its totals as pytorch-summary prints them, and its CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable

import streamlit as st

from explorer.networks import LayerRecord, Report, Statistics
from explorer.networks.records import Shapes
from explorer.trace.text import number
from explorer.ui.common.table import Column, Row, table

COLUMNS = (
    Column("Layer", "The module's name; #2 is a second call of the same module", "name", "layer"),
    Column("Type", style="word"),
    Column("Input", "Shape; the first number counts the samples"),
    Column("Output", "Shape; the first number counts the samples"),
    Column("Params", "Number of elements; shared parameters count once", "number", "parameter"),
    Column("MACs", "Multiply-adds of one forward pass, without biases", "number", "macs"),
    Column("Memory", "Size of the output", "number"),
    Column("Norm", "Euclidean norm of the layer's output", "number", "norm"),
    Column(
        "Dead",
        "Channels or features that are 0 for every sample and position",
        "number",
        "dead",
    ),
    Column(
        "Grad norm (output)",
        "Norm of the gradient of the loss with respect to the layer's output",
        "number",
        "gradient",
    ),
    Column(
        "Grad norm (params)",
        "Norm of the gradient of the loss with respect to the layer's own parameters",
        "number",
        "gradient",
    ),
)
_CSV = (
    *("layer", "call", "type", "input", "output", "parameters", "shared", "macs", "bytes"),
    *("output_norm", "dead", "units", "gradient_norm", "parameter_gradient_norm", "why_none"),
)
_MAX_LENGTH = 18
NOT_COUNTED = "not counted"
CONVENTION = (
    "MACs are multiply-adds of matrix products and convolutions, without biases, for the whole "
    "batch; “not counted” means that a layer computes neither. 1 MB is 2²⁰ bytes."
)


def layer_name(row: LayerRecord) -> str:
    """A layer's name as the table shows it."""
    name = row.name or "(model)"
    return f"{name} #{row.call + 1}" if row.call else name


def own_norm(report: Report, row: LayerRecord) -> float | None:
    """The norm of the gradients of a layer's own parameters; None if it has none."""
    norms = [
        p.grad_norm for p in report.parameters if p.layer == row.name and p.grad_norm is not None
    ]
    return math.hypot(*norms) if norms and not row.call else None


def draw_table(report: Report, selected_layer: str | None, select: Callable[[str], None]) -> None:
    """Draw the table; `select` is called with the name of a layer, "" when it is deselected."""
    rows = [_row(i, row, report) for i, row in enumerate(report.layers)]
    selected = next((i for i, row in enumerate(report.layers) if row.name == selected_layer), None)

    def clicked(position: int | None) -> None:
        select("" if position is None else report.layers[position].name)

    table(
        COLUMNS,
        rows,
        key="layers",
        label="Layers of the network",
        total=len(rows),
        selected=selected,
        on_choose=clicked,
    )
    st.html(f'{_totals(report)}<div class="ax-note">{CONVENTION}</div>')


def _row(position: int, row: LayerRecord, report: Report) -> Row:
    act, grad = row.activation, row.gradient
    start = (
        _shorten(layer_name(row)),
        row.type,
        to_shape_text(row.input_shape),
        to_shape_text(row.output_shape),
        f"{row.params:,}" if row.params or not row.shared else "shared",
        NOT_COUNTED if row.macs is None else f"{row.macs:,}",
        to_size(row.memory) if row.call is not None else "",
        _norm(act),
        "" if act is None or act.dead is None else f"{act.dead}/{act.units}",
    )
    if row.call is not None and report.loss is None and report.error is None:
        return Row(position, (*start, "", ""))  # on meta: the numbers have not been computed yet
    own = own_norm(report, row)
    if report.error is not None and grad is None:  # the reason is the same for all rows
        return Row(position, (*start, "", "None"), row.why_none)
    if row.call is None or (grad is None and row.why_none):
        own_text = "" if own is None or row.call is None else f" Parameters: {number(own)}."
        term = "unused" if row.call is None else ""
        return Row(position, (*start, "None"), f"{row.why_none}.{own_text}", term=term)
    norms = (_norm(grad), "" if own is None else f"{own:.4g}")
    return Row(position, (*start, *norms))


def _shorten(name: str) -> str:
    """The end of a long name, where it differs from its neighbours."""
    return name if len(name) <= _MAX_LENGTH else "…" + name[1 - _MAX_LENGTH :]


def _norm(statistics: Statistics | None) -> str:
    """The norm, or how many elements are not finite."""
    if statistics is None:
        return ""
    if statistics.nonfinite:
        return f"{statistics.nonfinite:,} nan/inf"
    return f"{statistics.norm:.4g}"


def to_shape_text(value: Shapes | None) -> str:
    """1×3×224×224; several tensors one after the other."""
    if value is None:
        return ""
    several = [part for part in value if isinstance(part, tuple)]
    return ", ".join(map(_shape, several)) if several else _shape(value)


def _shape(value: tuple[object, ...]) -> str:
    return "×".join(map(str, value)) or "()"


def to_size(count: int) -> str:
    """Bytes in the largest unit that gives a number above 1."""
    for unit, step in (("MB", 2**20), ("kB", 2**10)):
        if count >= step:
            return f"{count / step:.3g} {unit}"
    return f"{count} B"


def _totals(report: Report) -> str:
    """The totals below the table."""
    m = report.memory
    fixed = report.total_params - report.trainable_params
    pairs = (
        ("Total params", f"{report.total_params:,}"),
        ("Trainable params", f"{report.trainable_params:,}"),
        ("Non-trainable params", f"{fixed:,}"),
        ("Total MACs", f"{report.total_macs:,}"),
        ("Input size (MB)", f"{m.input:.2f}"),
        ("Forward/backward pass size (MB)", f"{m.forward_backward:.2f}"),
        ("Params size (MB)", f"{m.parameters:.2f}"),
        ("Estimated Total Size (MB)", f"{m.total:.2f}"),
    )
    cells = "".join(f"<span>{name} <b>{value}</b></span>" for name, value in pairs)
    return f'<div class="ax-totals">{cells}</div>'


def to_csv(report: Report) -> bytes:
    """Every column of the table with plain numbers, and why a gradient is None."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(_CSV)
    for row in report.layers:
        act, grad = row.activation, row.gradient
        writer.writerow(
            [
                row.name,
                row.call,
                row.type,
                to_shape_text(row.input_shape),
                to_shape_text(row.output_shape),
                row.params,
                row.shared,
                row.macs if row.macs is not None else NOT_COUNTED,
                row.memory,
                act.norm if act else None,
                act.dead if act else None,
                act.units if act else None,
                grad.norm if grad else None,
                own_norm(report, row),
                row.why_none,
            ]
        )
    return out.getvalue().encode()
