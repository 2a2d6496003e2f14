"""The table of a program's tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from explorer.trace import Array, TensorRecord
from explorer.trace.text import shape_text
from explorer.ui.common import values
from explorer.ui.common.glossary import GLOSSARY
from explorer.ui.common.table import MOST_ROWS, Column, Row

COLUMNS = (
    Column("Tensor", "The name it has in the program", "name", "tensor"),
    Column("Line", "The line that made it", "number"),
    Column("Iteration", "How often the line had run by then, in a loop", "number"),
    Column("Shape"),
    Column("requires_grad", "Whether autograd tracks it", term="requires_grad"),
    Column("is_leaf", "Created by you, not by an operation autograd tracks", term="leaf"),
    Column("grad_fn", "The node of the graph that made it", term="grad_fn"),
    Column("Value", style="array"),
    Column(
        "Gradient",
        "The derivative of the scalar that backward started from, with respect to this tensor",
        "array",
        "gradient",
    ),
    Column("Read via", "How the gradient was read: from .grad, or by a hook as it passed", "word"),
)

#: Of a matrix: the most rows, columns and characters shown without scrolling sideways. The
#: Tensor panel shows more.
_ROWS, _COLUMNS, _WIDTH = 4, 4, 28
_READ_VIA = {".grad": ".grad", "hook": "a hook"}


def in_loop(tensors: Sequence[TensorRecord]) -> bool:
    """Whether any line ran more than once: then there is a column that tells its runs apart."""
    return any(record.visits > 1 for record in tensors)


def tensor_columns(tensors: Sequence[TensorRecord]) -> tuple[Column, ...]:
    """The columns of the tensor table."""
    return tuple(c for c in COLUMNS if c.title != "Iteration" or in_loop(tensors))


def tensor_rows(
    tensors: Sequence[TensorRecord],
    *,
    hidden: bool = False,
    awaited: Mapping[int, int] = MappingProxyType({}),
) -> tuple[Row, ...]:
    """The rows of the tensor table, the first `MOST_ROWS` of them; gradients as "?" if `hidden`.
    `awaited` are the steps that bring gradients which have not arrived, by the tensors' ids."""
    loop = in_loop(tensors)
    return tuple(
        _tensor_row(record, hidden, loop, awaited.get(record.id)) for record in tensors[:MOST_ROWS]
    )


def _tensor_row(record: TensorRecord, hidden: bool, loop: bool, step: int | None) -> Row:
    start = (
        record.name,
        str(record.line or "input"),
        *([f"{record.visit:,}" if record.visits > 1 else ""] if loop else []),
        shape_text(record.shape),
        str(record.requires_grad),
        str(record.is_leaf),
        record.grad_fn or "None",
        _array(record.value),
    )
    leaf = record.is_leaf and record.requires_grad
    kind = "leaf" if leaf else "" if record.named else "unnamed"
    row = Row(record.id, (), "", kind, tensor=record.id, line=record.line or None)
    if hidden:
        return replace(row, cells=(*start, "?", ""))
    if step is not None:
        return replace(row, cells=(*start, "not yet"), note=f"It arrives at step {step:,}.")
    if record.grad is None:
        term = record.why_term if record.why_term in GLOSSARY else ""
        return replace(row, cells=(*start, "None"), note=record.why_none, term=term)
    note = f".grad is None: {record.why_none}" if record.why_none else ""
    source = record.grad_from or ""
    term = "hook" if source == "hook" else ""
    cells = (*start, _array(record.grad), _READ_VIA.get(source, source))
    return replace(row, cells=cells, note=note, term=term)


def _array(array: Array | None) -> str:
    return values.text(array, rows=_ROWS, columns=_COLUMNS, width=_WIDTH)
