"""Tables whose rows can be chosen, and the table of a program's tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from explorer.trace import Array, TensorRecord
from explorer.trace.text import shape_text
from explorer.ui.common import values
from explorer.ui.common.glossary import ELEMENTS, GLOSSARY

#: A table shows at most this many rows and says how many there are.
MOST_ROWS = 200

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "row_table",
    html="""
<div class="frame"><table role="grid"><thead></thead><tbody></tbody></table></div>
<p class="rest"></p>
""",
    css=(_HERE / "table.css").read_text(encoding="utf-8"),
    js=ELEMENTS + (_HERE / "table.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True)
class Column:
    """A column: its heading, what the heading means (shown on hover), its `style`: "name",
    "code", "array", "number" or "word"; and the key of the glossary's `term` it opens."""

    title: str
    help: str = ""
    style: str = "code"
    term: str = ""


@dataclass(frozen=True)
class Row:
    """A row: one text per column. With fewer, the last cell takes the rest of the width and shows
    the `note`; in a full row the note is shown when the pointer is over the last cell. `term` is
    the key of a glossary's term: that behind the note, in a full row that of the last cell."""

    id: int
    cells: tuple[str, ...]
    note: str = ""
    kind: str = ""
    term: str = ""


TENSOR_COLUMNS = (
    Column("Tensor", "The name it has in the program", "name", "tensor"),
    Column("Line", "Where it was made", "number"),
    Column("Shape"),
    Column("requires_grad", "Whether autograd follows it", term="requires_grad"),
    Column("is_leaf", "Made by you, not by an operation that autograd follows", term="leaf"),
    Column("grad_fn", "The node of the graph that made it", term="grad_fn"),
    Column("Value", style="array"),
    Column(
        "Gradient",
        "Of the scalar that backward started from, with respect to this tensor",
        "array",
        "gradient",
    ),
    Column("Seen in", "Where the gradient was read: .grad, or by a hook while it passed", "word"),
)

#: Of a matrix: rows, most columns, and characters that need no scrolling sideways; the chosen
#: tensor shows more.
_ROWS, _COLUMNS, _WIDTH = 4, 4, 28
_SEEN = {".grad": ".grad", "hook": "a hook"}


def tensor_rows(tensors: Sequence[TensorRecord], *, hidden: bool = False) -> tuple[Row, ...]:
    """The rows of the tensor table, the first `MOST_ROWS` of them; gradients as "?" if `hidden`."""
    return tuple(_tensor_row(record, hidden) for record in tensors[:MOST_ROWS])


def _tensor_row(record: TensorRecord, hidden: bool) -> Row:
    start = (
        record.name,
        str(record.line),
        shape_text(record.shape),
        str(record.requires_grad),
        str(record.is_leaf),
        record.grad_fn or "None",
        _array(record.value),
    )
    leaf = record.is_leaf and record.requires_grad
    kind = "leaf" if leaf else "" if record.named else "unnamed"
    if hidden:
        return Row(record.id, (*start, "?", ""), "", kind)
    if record.grad is None:
        term = record.why_term if record.why_term in GLOSSARY else ""
        return Row(record.id, (*start, "None"), record.why_none, kind, term)
    note = f".grad is None: {record.why_none}" if record.why_none else ""
    way = record.grad_from or ""
    term = "hook" if way == "hook" else ""
    return Row(record.id, (*start, _array(record.grad), _SEEN.get(way, way)), note, kind, term)


def _array(array: Array | None) -> str:
    return values.text(array, rows=_ROWS, columns=_COLUMNS, width=_WIDTH)


def table(
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    key: str,
    label: str,
    total: int,
    selected: int | None = None,
    on_choose: Callable[[int | None], None],
) -> None:
    """Draw the table; `label` names it to those who cannot see it, and `on_choose` is called with
    a row's id, or None when it is let go."""
    rest = f"The first {len(rows)} of {total:,} rows." if total > len(rows) else ""

    def chosen() -> None:
        clicked = st.session_state[key].clicked
        on_choose(None if clicked == selected else clicked)

    _component(
        key=key,
        data={
            "columns": [vars(column) for column in columns],
            "rows": [vars(row) for row in rows],
            "selected": selected,
            "terms": {row.term: GLOSSARY[row.term].title for row in rows if row.term},
            "label": f"{label}. Arrow keys go from row to row, and to the words in them and above; "
            "Enter chooses.",
            "rest": rest,
        },
        on_clicked_change=chosen,
    )
