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
    Column("Layer", "The module's name; a second call of the same module says so", "name", "layer"),
    Column("Type", style="word"),
    Column("Input", "Shape, samples first"),
    Column("Output", "Shape, samples first"),
    Column("Params", "Elements; each shared parameter counts once", "number", "parameter"),
    Column("MACs", "Multiply-adds of one forward pass, without biases", "number", "macs"),
    Column("Memory", "Bytes of the output", "number"),
    Column("Norm", "Euclidean norm of the layer's output", "number", "norm"),
    Column(
        "Dead", "Channels or features that are 0 for every sample and position", "number", "dead"
    ),
    Column(
        "∂ output", "Norm of the loss's gradient with respect to the output", "number", "gradient"
    ),
    Column("∂ params", "Norm of the gradient of the layer's own parameters", "number", "gradient"),
)
_CSV = (
    *("layer", "call", "type", "input", "output", "parameters", "shared", "macs", "bytes"),
    *("output_norm", "dead", "units", "gradient_norm", "parameter_gradient_norm", "why_none"),
)
_LONGEST = 18
NOT_COUNTED = "not counted"
CONVENTION = (
    "MACs: multiply-adds of matrix products and convolutions, no biases, for the whole batch; "
    "“not counted” where a layer does neither. Sizes in MB of 2²⁰ bytes."
)


def layer_name(row: LayerRecord) -> str:
    """As the table shows it."""
    name = row.name or "(model)"
    return f"{name} #{row.call + 1}" if row.call else name


def own_norm(report: Report, row: LayerRecord) -> float | None:
    """The norm of the gradients of the parameters a layer holds itself; None without one."""
    norms = [
        p.grad_norm for p in report.parameters if p.layer == row.name and p.grad_norm is not None
    ]
    return math.hypot(*norms) if norms and not row.call else None


def section(report: Report, chosen: str | None, choose: Callable[[str], None]) -> None:
    """The table; `choose` is called with the name of a layer, "" when it is let go."""
    rows = [_row(i, row, report) for i, row in enumerate(report.layers)]
    selected = next((i for i, row in enumerate(report.layers) if row.name == chosen), None)

    def clicked(place: int | None) -> None:
        choose("" if place is None else report.layers[place].name)

    table(
        COLUMNS,
        rows,
        key="layers",
        label="Layers of the network",
        total=len(rows),
        selected=selected,
        on_choose=clicked,
    )
    st.html(f'{totals(report)}<div class="ax-note">{CONVENTION}</div>')


def _row(place: int, row: LayerRecord, report: Report) -> Row:
    act, grad = row.activation, row.gradient
    start = (
        _end(layer_name(row)),
        row.type,
        shapes(row.input_shape),
        shapes(row.output_shape),
        f"{row.params:,}" if row.params or not row.shared else "shared",
        NOT_COUNTED if row.macs is None else f"{row.macs:,}",
        size(row.memory) if row.call is not None else "",
        _norm(act),
        "" if act is None or act.dead is None else f"{act.dead}/{act.units}",
    )
    if row.call is not None and report.loss is None and report.error is None:
        return Row(place, (*start, "", ""))  # on meta: the numbers are still to come
    own = own_norm(report, row)
    if report.error is not None and grad is None:  # for all rows the same reason
        return Row(place, (*start, "", "None"), row.why_none)
    if row.call is None or (grad is None and row.why_none):
        own_text = "" if own is None or row.call is None else f" Parameters: {number(own)}."
        term = "unused" if row.call is None else ""
        return Row(place, (*start, "None"), f"{row.why_none}.{own_text}", term=term)
    norms = (_norm(grad), "" if own is None else f"{own:.4g}")
    return Row(place, (*start, *norms))


def _end(name: str) -> str:
    """A long name by its end, where it differs from its neighbours."""
    return name if len(name) <= _LONGEST else "…" + name[1 - _LONGEST :]


def _norm(found: Statistics | None) -> str:
    """Of a tensor that is not finite, how many elements are not."""
    if found is None:
        return ""
    return f"{found.nonfinite:,} nan/inf" if found.nonfinite else f"{found.norm:.4g}"


def shapes(value: Shapes | None) -> str:
    """1×3×224×224; several tensors one after the other."""
    if value is None:
        return ""
    several = [part for part in value if isinstance(part, tuple)]
    return ", ".join(map(_shape, several)) if several else _shape(value)


def _shape(value: tuple[object, ...]) -> str:
    return "×".join(map(str, value)) or "()"


def size(count: int) -> str:
    """Bytes in the largest unit that leaves a number above 1."""
    for unit, step in (("MB", 2**20), ("kB", 2**10)):
        if count >= step:
            return f"{count / step:.3g} {unit}"
    return f"{count} B"


def totals(report: Report) -> str:
    """The sums below the table."""
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


def as_csv(report: Report) -> bytes:
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
                shapes(row.input_shape),
                shapes(row.output_shape),
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
