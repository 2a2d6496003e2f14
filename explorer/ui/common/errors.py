"""A program's error as a reader sees it. All of it is untrusted: shown as text only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

import streamlit as st

from explorer.program import ProgramError, ProgramRefused
from explorer.ui.common.widgets import refuse

#: The most sentences about other lines that are shown.
MOST_ALSO = 11

#: In place of an answer that no page can draw.
UNDRAWABLE = "What your network has answered cannot be drawn."


@contextmanager
def reported(own: object) -> Iterator[None]:
    """Say what a child refuses inside. With an `own` network of the reader, anything that cannot be
    drawn is no more than a sentence: its program may have answered what it wants."""
    try:
        yield
    except ProgramRefused as refused:
        refuse(refused.error.message)
    except Exception:
        if not own:
            raise
        refuse(UNDRAWABLE)


def program_error(error: ProgramError) -> None:
    """Show what was wrong, where, what to do, and below it the message of torch or Python."""
    st.html(as_html(error))


def as_html(error: ProgramError, *, change: str = "") -> str:
    """The error box; every part but the markup is escaped. `change` is the markup of its fix, once
    that has been tried."""
    where = f"Line {error.line}: " if error.line else ""
    parts = [f"<div><b>{where}</b>{escape(error.message)}</div>"]
    if error.text.strip():
        parts.append(f"<pre>{escape(_pointed(error))}</pre>")
    if error.hint or change:
        parts.append(f'<div class="ax-hint">{escape(error.hint)}{change}</div>')
    if error.also:
        others = "".join(f"<li>{escape(sentence)}</li>" for sentence in error.also[:MOST_ALSO])
        parts.append(f'<ul class="ax-hint">{others}</ul>')
    if error.detail:
        parts.append(
            "<details><summary>Original error message</summary>"
            f"<code>{escape(error.detail)}</code></details>"
        )
    style = "ax-error ax-stopped" if error.stopped else "ax-error"
    return f'<div class="{style}" role="alert">{"".join(parts)}</div>'


def _pointed(error: ProgramError) -> str:
    """The line of the program, with a caret below the column if there is one."""
    line = error.text.rstrip("\n")
    indent = len(line) - len(line.lstrip())
    shown = line.strip()
    if error.column is None or not indent < error.column <= indent + len(shown):
        return shown
    return f"{shown}\n{' ' * (error.column - indent)}^"
