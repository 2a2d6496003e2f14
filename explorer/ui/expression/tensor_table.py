"""The table of a program's tensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from explorer.trace import Array, TensorRecord, Trace
from explorer.trace.proof.symptoms import is_equal
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
        "Tangent",
        "How fast the value changes along the direction that forward mode was given",
        "array",
        "tangent",
    ),
    Column(
        "Gradient",
        "The derivative of the scalar that backward started from, with respect to this tensor",
        "array",
        "gradient",
    ),
    Column(
        "Read by",
        "Where the gradient is from: .grad of a leaf, .grad kept by retain_grad(), or a hook that "
        "read it as it passed; .grad is then None",
        "word",
    ),
)

#: Of a matrix: the most rows, columns and characters shown without scrolling sideways. The
#: Tensor panel shows more.
_ROWS, _COLUMNS, _WIDTH = 4, 4, 28
_READ_BY = {".grad": ".grad", "hook": "a hook"}


def shown_tensors(trace: Trace) -> tuple[TensorRecord, ...]:
    """The tensors of a trace, each value of a leaf with the gradient that belongs to it: what the
    last backward through it left in `.grad`. What `.grad` is at the end belongs to the last."""
    left = {n: grad for shown in trace.passes for n, grad in shown.leaf_gradients.items()}
    return tuple(_with_own_gradients(trace.tensors, left))


def _with_own_gradients(
    tensors: Sequence[TensorRecord], left: Mapping[int, Array]
) -> Iterator[TensorRecord]:
    earlier: dict[tuple[str, str], list[Array]] = defaultdict(list)
    for record in tensors:
        grad, key = left.get(record.id), (record.name, record.scope)
        if record.changes and grad is not None:
            earlier[key].append(grad)
        is_another = record.grad is not None and record.grad_from == ".grad"
        if record.changes and record.requires_grad and (is_another or grad is not None):
            found = {"grad_from": ".grad", "why_none": ""}
            none = {
                "grad_from": None,
                "why_none": f"No backward that is recorded went through this value of "
                f"{record.name}. What .grad is at the end stands with its last value.",
            }
            yield replace(record, grad=grad, why_term="", **(none if grad is None else found))
        elif grad is None and any(is_equal(record.grad, other) for other in earlier[key]):
            remark = record.remark or "changed since backward filled .grad"
            yield replace(record, remark=remark)
        else:
            yield record


def in_loop(tensors: Sequence[TensorRecord]) -> bool:
    """Whether any line ran more than once: then there is a column that tells its runs apart."""
    return any(record.visits > 1 for record in tensors)


def has_tangents(tensors: Sequence[TensorRecord]) -> bool:
    """Whether any tensor carried a tangent: then there is a column for them."""
    return any(record.tangent is not None for record in tensors)


def tensor_columns(tensors: Sequence[TensorRecord]) -> tuple[Column, ...]:
    """The columns of the tensor table."""
    shown = {"Iteration": in_loop(tensors), "Tangent": has_tangents(tensors)}
    return tuple(c for c in COLUMNS if shown.get(c.title, True))


def tensor_rows(
    tensors: Sequence[TensorRecord],
    *,
    hidden: bool = False,
    awaited: Mapping[int, int] = MappingProxyType({}),
) -> tuple[Row, ...]:
    """The rows of the tensor table, the first `MOST_ROWS` of them; gradients as "?" if `hidden`.
    `awaited` are the steps that bring gradients which have not arrived, by the tensors' ids."""
    titles = {column.title for column in tensor_columns(tensors)}
    return tuple(
        _tensor_row(record, hidden, titles, awaited.get(record.id))
        for record in tensors[:MOST_ROWS]
    )


def _tensor_row(record: TensorRecord, hidden: bool, titles: set[str], step: int | None) -> Row:
    start = (
        record.name,
        str(record.line or "input"),
        *([f"{record.visit:,}" if record.visits > 1 else ""] if "Iteration" in titles else []),
        shape_text(record.shape),
        "inference tensor" if record.is_inference else str(record.requires_grad),
        str(record.is_leaf),
        record.grad_fn or "None",
        _array(record.value),
        *([_array(record.tangent) if record.tangent is not None else ""] * ("Tangent" in titles)),
    )
    leaf = record.is_leaf and record.requires_grad
    kind = "leaf" if leaf else "" if record.named else "unnamed"
    row = Row(record.id, (), _remark(record), kind, tensor=record.id, line=record.line or None)
    if hidden:
        return replace(row, cells=(*start, "?", ""))
    if step is not None:
        note = f"{row.note} It arrives at step {step:,}.".strip()
        return replace(row, cells=(*start, "not yet"), note=note)
    if record.grad is None:
        term = record.why_term if record.why_term in GLOSSARY else ""
        note = f"{row.note} {record.why_none}".strip()
        return replace(row, cells=(*start, "None"), note=note, term=term)
    why = f".grad is None: {record.why_none}" if record.why_none else ""
    note = " ".join(filter(None, (row.note, why)))
    source = record.grad_from or ""
    term = "hook" if source == "hook" else ""
    is_kept = source == ".grad" and not record.is_leaf
    read_by = "retain_grad" if is_kept else _READ_BY.get(source, source)
    cells = (*start, _array(record.grad), read_by)
    return replace(row, cells=cells, note=note, term=term)


def _remark(record: TensorRecord) -> str:
    """The remark on a tensor as a sentence."""
    return f"{record.remark[:1].upper()}{record.remark[1:]}." if record.remark else ""


def _array(array: Array | None) -> str:
    return values.text(array, rows=_ROWS, columns=_COLUMNS, width=_WIDTH)
