"""A table whose rows can be chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from explorer.view.component import load_component
from explorer.view.glossary import GLOSSARY

TABLE = load_component(
    __file__,
    """
<div class="frame"><table role="grid"><thead></thead><tbody></tbody></table></div>
<p class="rest"></p>
""",
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
    `tensor` and `line` are given where hovering marks them in the graph and the program, `colour`
    where the first cell is the name of a leaf that has one (`leaves.py`)."""

    id: int
    cells: tuple[str, ...]
    note: str = ""
    kind: str = ""
    term: str = ""
    tensor: int | None = None
    line: int | None = None
    colour: int | None = None


def table_data(
    columns: Sequence[Column], rows: Sequence[Row], *, label: str, total: int, selected: int | None
) -> dict[str, Any]:
    """What the browser gets of a table with `total` rows, of which it shows these; `label` names it
    for screen readers."""
    return {
        "columns": tuple(vars(column) for column in columns),
        "rows": tuple(vars(row) for row in rows),
        "selected": selected,
        "terms": {row.term: GLOSSARY[row.term].title for row in rows if row.term},
        "label": f"{label}. Arrow keys go from row to row, and to the words in them and above; "
        "Enter chooses.",
        "rest": f"The first {len(rows)} of {total:,} rows." if total > len(rows) else "",
    }
