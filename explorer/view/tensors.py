"""The tensors of a program: the table of all, and one in detail."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from types import MappingProxyType

import numpy as np

from explorer import limits
from explorer.trace import Array, Summary, TensorRecord, Trace
from explorer.trace.proof.symptoms import is_equal
from explorer.trace.records import WhyNone
from explorer.trace.text import number, shape_text
from explorer.view import events, heatmap, values
from explorer.view.glossary import GLOSSARY, Html, html, optional_term_link, term_link
from explorer.view.table import Column, Row

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

#: The most rows, columns and characters of a matrix that are shown without scrolling sideways.
#: The Tensor panel shows more.
_ROWS, _COLUMNS, _WIDTH = 4, 4, 28
_READ_BY = {".grad": ".grad", "hook": "a hook"}

#: In detail, tensors with more numbers than this are also shown as a picture, below so many rows.
_FEW, _ROWS_ABOVE = 16, 3
#: Most events of one tensor.
_EVENTS = 12
_READ_FROM = {".grad": (", in .grad",), "hook": (", read by a ", term_link("hook", "hook"))}


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
        grad, key = left.get(record.id), (record.name, record.origin.scope)
        if record.changed_later and grad is not None:
            earlier[key].append(grad)
        is_another = record.grad is not None and record.grad_from == ".grad"
        if record.changed_later and record.requires_grad and (is_another or grad is not None):
            if grad is not None:
                yield replace(record, grad=grad, grad_from=".grad", why_none=None)
                continue
            why = WhyNone(
                f"No backward that is recorded went through this value of {record.name}. "
                "What .grad is at the end stands with its last value."
            )
            yield replace(record, grad=None, grad_from=None, why_none=why)
        elif grad is None and any(is_equal(record.grad, other) for other in earlier[key]):
            yield replace(record, note=record.note or "changed since backward filled .grad")
        else:
            yield record


def in_loop(tensors: Sequence[TensorRecord]) -> bool:
    """Whether any line ran more than once: then there is a column that tells its runs apart."""
    return any(record.origin.visits > 1 for record in tensors)


def has_tangents(tensors: Sequence[TensorRecord]) -> bool:
    """Whether any tensor carried a tangent: then there is a column for them."""
    return any(record.autograd.tangent is not None for record in tensors)


def tensor_columns(tensors: Sequence[TensorRecord]) -> tuple[Column, ...]:
    """The columns of the tensor table."""
    shown = {"Iteration": in_loop(tensors), "Tangent": has_tangents(tensors)}
    return tuple(c for c in COLUMNS if shown.get(c.title, True))


def tensor_rows(
    tensors: Sequence[TensorRecord],
    *,
    hidden: bool = False,
    awaited: Mapping[int, int] = MappingProxyType({}),
    colours: Mapping[str, int] = MappingProxyType({}),
    most: int = limits.TABLE_ROWS,
) -> tuple[Row, ...]:
    """The first rows of the tensor table, `most` of them; gradients as "?" if `hidden`.
    `awaited` are the steps that bring gradients which have not arrived, by the tensors' ids,
    `colours` those of leaves, by their names."""
    titles = {column.title for column in tensor_columns(tensors)}
    return tuple(
        replace(
            _tensor_row(record, hidden, titles, awaited.get(record.id)),
            colour=colours.get(record.name) if record.is_leaf and record.requires_grad else None,
        )
        for record in tensors[:most]
    )


def _tensor_row(record: TensorRecord, hidden: bool, titles: set[str], step: int | None) -> Row:
    origin, state = record.origin, record.autograd
    start = (
        record.name,
        str(record.line or "input"),
        *([f"{origin.visit:,}" if origin.visits > 1 else ""] if "Iteration" in titles else []),
        shape_text(record.shape),
        "inference tensor" if state.is_inference else str(record.requires_grad),
        str(record.is_leaf),
        state.grad_fn or "None",
        _array(record.value),
        *([_array(state.tangent) if state.tangent is not None else ""] * ("Tangent" in titles)),
    )
    leaf = record.is_leaf and record.requires_grad
    kind = "leaf" if leaf else "" if record.named else "unnamed"
    row = Row(record.id, (), _note(record), kind, tensor=record.id, line=record.line or None)
    if hidden:
        return replace(row, cells=(*start, "?", ""))
    if step is not None:
        note = f"{row.note} It arrives at step {step:,}.".strip()
        return replace(row, cells=(*start, "not yet"), note=note)
    reason = record.why_none
    if record.grad is None:
        term = reason.term if reason is not None and reason.term in GLOSSARY else ""
        note = f"{row.note} {reason.text if reason else ''}".strip()
        return replace(row, cells=(*start, "None"), note=note, term=term)
    why = f".grad is None: {reason.text}" if reason else ""
    note = " ".join(filter(None, (row.note, why)))
    source = record.grad_from or ""
    term = "hook" if source == "hook" else ""
    is_kept = source == ".grad" and not record.is_leaf
    read_by = "retain_grad" if is_kept else _READ_BY.get(source, source)
    cells = (*start, _array(record.grad), read_by)
    return replace(row, cells=cells, note=note, term=term)


def _note(record: TensorRecord) -> str:
    """The note on a tensor as a sentence."""
    return f"{record.note[:1].upper()}{record.note[1:]}." if record.note else ""


def _array(array: Array | None) -> str:
    return values.text(array, rows=_ROWS, columns=_COLUMNS, width=_WIDTH)


def facts(record: TensorRecord, place: Callable[[int], str] = "line {}".format) -> str:
    """One line: name, shape, type, memory, the number of in-place changes, the `place` of its line,
    and its module."""
    parts = [
        f"{shape_text(record.shape)} {record.dtype.removeprefix('torch.')}",
        f"{record.nbytes:,} bytes",
        term_link("version", f"version {record.autograd.version}"),
        place(record.line) if record.line else record.place,
    ]
    if record.origin.module:
        parts.append(f"in {record.origin.module}")
    if record.autograd.is_inference:
        parts.append(term_link("inference-tensor", "inference tensor"))
    line = " · ".join(map(html, parts))
    return f'<div class="ax-step"><b>{escape(record.name)}</b> {line}</div>'


def detail(trace: Trace, record: TensorRecord, *, pictures: bool = True) -> tuple[str, str, str]:
    """One tensor as three pieces of markup: its value, its gradient, and what happened to it.
    Large arrays also as `pictures`."""
    value = array_html("Value", record.value, picture=pictures)
    if record.autograd.tangent is not None:  # in forward mode
        tangent = html(term_link("tangent", "Tangent"))
        value += array_html(tangent, record.autograd.tangent, picture=pictures)
    grad = array_html(_gradient_title(record), record.grad, picture=pictures)
    return value, grad, _history(trace, record)


def _gradient_title(record: TensorRecord) -> Html:
    """The gradient's heading: how it was read."""
    return html(term_link("gradient"), *_READ_FROM.get(record.grad_from or "", ()))


def versions(trace: Trace, record: TensorRecord) -> list[TensorRecord]:
    """All records of that name: earlier and later values, and runs of a loop."""
    return [
        t for t in trace.tensors if (t.name, t.origin.scope) == (record.name, record.origin.scope)
    ]


def moment(record: TensorRecord) -> str:
    """Which of the records of one name it is."""
    origin = record.origin
    run = f", iteration {origin.visit} of {origin.visits}" if origin.visits > 1 else ""
    return f"{record.place}{run}, version {record.autograd.version}"


def array_html(title: str, array: Array | None, *, picture: bool = True) -> str:
    """A titled array: its numbers; with more than a few also the statistics and, if a `picture` is
    asked for, a heat map."""
    parts = [f'<span class="ax-label">{html(title)}</span>']
    if array is None:
        return f'<div class="ax-flow">{parts[0]}<div class="ax-value">None</div></div>'
    size = int(np.prod(array.shape))
    image = heatmap.data_url(array) if picture and size > _FEW else None
    if size > 1:
        parts.append(f'<div class="ax-from">{escape(statistics(array))}</div>')
    if not isinstance(array, Summary):
        rows = _ROWS_ABOVE if image else values.ROWS
        parts.append(f'<div class="ax-value">{escape(values.text(array, rows=rows))}</div>')
    if image:
        what = "its first corner" if isinstance(array, Summary) else "all its numbers"
        parts.append(
            f'<img class="ax-heat" src="{image}" alt="Heat map of {what}: blue below zero, '
            'red above">'
        )
    if isinstance(array, Summary):
        parts.append(bars(array))
    return f'<div class="ax-flow">{"".join(parts)}</div>'


def statistics(array: Array) -> str:
    """min, max, mean and norm of the finite elements; what is not finite is counted."""
    if isinstance(array, Summary):
        numbers = (array.min, array.max, array.mean, array.norm)
        bad = array.nonfinite
    else:
        if array.dtype.kind not in "fiu":
            return ""
        finite = array[np.isfinite(array)].astype(float)
        bad = int(array.size - finite.size)
        if not finite.size:
            return f"{bad} not finite"
        norm = float(np.linalg.norm(finite))
        numbers = (float(finite.min()), float(finite.max()), float(finite.mean()), norm)
    words = zip(("min", "max", "mean", "norm"), map(number, numbers), strict=True)
    return " · ".join([*map(" ".join, words), *([f"{bad} not finite"] if bad else [])])


def bars(summary: Summary) -> str:
    """The histogram of a large tensor."""
    top = max(summary.counts, default=0) or 1
    columns = "".join(
        f'<i style="height:{100 * count / top:.0f}%" title="{count:,}"></i>'
        for count in summary.counts
    )
    ends = f"{number(summary.edges[0])} … {number(summary.edges[-1])}" if summary.edges else ""
    return f'<div class="ax-bars">{columns}</div><div class="ax-from">{escape(ends)}</div>'


def _history(trace: Trace, record: TensorRecord) -> str:
    why = ""
    if record.why_none:
        reason = f"{escape(record.why_none.text)} {optional_term_link(record.why_none.term)}"
        why = f'<div class="ax-from">.grad is None: {reason}</div>'
    own = events.of(trace, record.name)[:_EVENTS]
    listed = events.events_html(own, trace.place) if own else ""
    return (
        f'<div class="ax-flow"><span class="ax-label">What happened to it</span>{why}{listed}</div>'
    )
