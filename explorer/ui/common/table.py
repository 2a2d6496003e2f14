"""A table whose rows can be chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from explorer.ui.common.glossary import ELEMENTS, GLOSSARY
from explorer.ui.common.widgets import while_drawn

#: A table shows at most this many rows and says how many there are.
MOST_ROWS = 200

_HERE = Path(__file__).parent
_SCRIPTS = ("table_live", "table")
_component = st.components.v2.component(
    "row_table",
    html="""
<div class="frame"><table role="grid"><thead></thead><tbody></tbody></table></div>
<p class="rest"></p>
""",
    css=(_HERE / "table.css").read_text(encoding="utf-8"),
    js=ELEMENTS + "".join((_HERE / f"{name}.js").read_text("utf-8") for name in _SCRIPTS),
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
    the key of a glossary's term: that behind the note, in a full row that of the last cell.
    `tensor` and `line` are given where hovering marks them in the graph and the program."""

    id: int
    cells: tuple[str, ...]
    note: str = ""
    kind: str = ""
    term: str = ""
    tensor: int | None = None
    line: int | None = None


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
    """Draw the table. `label` names it for screen readers; `on_choose` is called with a row's id,
    or None when the row is deselected."""
    rest = f"The first {len(rows)} of {total:,} rows." if total > len(rows) else ""

    def chosen() -> None:
        clicked = st.session_state[key].clicked  # a browser may send anything
        if type(clicked) is int and any(row.id == clicked for row in rows):
            on_choose(None if clicked == selected else clicked)

    _component(
        key=key,
        data={
            "columns": tuple(vars(column) for column in columns),
            "rows": tuple(vars(row) for row in rows),
            "selected": selected,
            "terms": {row.term: GLOSSARY[row.term].title for row in rows if row.term},
            "label": f"{label}. Arrow keys go from row to row, and to the words in them and above; "
            "Enter chooses.",
            "rest": rest,
        },
        on_clicked_change=while_drawn(key, chosen),
    )
