"""Tables whose rows can be chosen, and the table of a program's tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st

from explorer.trace import TensorRecord
from explorer.trace.text import shape_text
from explorer.ui import values

#: A table shows at most this many rows and says how many there are.
MOST_ROWS = 200

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "row_table",
    html="""
<div class="frame"><table><thead></thead><tbody></tbody></table></div>
<p class="rest"></p>
""",
    css=(_HERE / "table.css").read_text(encoding="utf-8"),
    js=(_HERE / "table.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True)
class Column:
    """A column: its heading, what the heading means (shown on hover), and its `style`:
    "name", "code", "number" or "word"."""

    title: str
    help: str = ""
    style: str = "code"


@dataclass(frozen=True)
class Row:
    """A row: one text per column. With `note` set, the last cells are one, which says it."""

    id: int
    cells: tuple[str, ...]
    note: str = ""
    kind: str = ""


TENSOR_COLUMNS = (
    Column("Tensor", "The name it has in the program", "name"),
    Column("Line", "Where it was made", "number"),
    Column("Shape"),
    Column("requires_grad", "Whether autograd follows it"),
    Column("is_leaf", "Made by you, not by an operation that autograd follows"),
    Column("grad_fn", "The node of the graph that made it"),
    Column("Value"),
    Column("Gradient", "Of the scalar that backward started from, with respect to this tensor"),
    Column("Seen in", "Where the gradient was read: .grad, or by a hook while it passed", "word"),
)

_ROWS, _COLUMNS = 4, 4  # of a matrix; the chosen node shows more
_SEEN = {".grad": ".grad", "hook": "a hook"}


def tensor_rows(tensors: Sequence[TensorRecord]) -> tuple[Row, ...]:
    """The rows of the tensor table, the first `MOST_ROWS` of them."""
    return tuple(map(_tensor_row, tensors[:MOST_ROWS]))


def _tensor_row(record: TensorRecord) -> Row:
    start = (
        record.name,
        str(record.line),
        shape_text(record.shape),
        str(record.requires_grad),
        str(record.is_leaf),
        record.grad_fn or "None",
        values.text(record.value, rows=_ROWS, columns=_COLUMNS),
    )
    leaf = record.is_leaf and record.requires_grad
    kind = "leaf" if leaf else "" if record.named else "unnamed"
    if record.grad is None:
        return Row(record.id, (*start, "None"), note=record.why_none, kind=kind)
    seen = _SEEN.get(record.grad_from or "", record.grad_from or "")
    return Row(
        record.id, (*start, values.text(record.grad, rows=_ROWS, columns=_COLUMNS), seen), kind=kind
    )


def table(
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    key: str,
    total: int,
    selected: int | None = None,
    on_choose: Callable[[int | None], None],
) -> None:
    """Draw the table; `on_choose` is called with a row's id, or None when it is let go."""
    rest = f"The first {len(rows)} of {total:,} rows." if total > len(rows) else ""

    def chosen() -> None:
        clicked = st.session_state[key].clicked
        on_choose(None if clicked == selected else clicked)

    _component(
        key=key,
        data={
            "columns": [asdict(column) for column in columns],
            "rows": [asdict(row) for row in rows],
            "selected": selected,
            "rest": rest,
        },
        on_clicked_change=chosen,
    )
