"""A program's error as a reader sees it. All of it is untrusted: shown as text only."""

from __future__ import annotations

from html import escape

import streamlit as st

from explorer.language import ProgramError


def program_error(error: ProgramError) -> None:
    """Show what was wrong, where, what to do, and below it the message of torch or Python."""
    st.html(as_html(error))


def apply_button(fix: str | None) -> str:
    """A button that puts a changed program into the editor (drag.js listens), if there is one."""
    if fix is None:
        return ""
    return f'<button type="button" class="ax-apply" data-fix="{escape(fix)}">Apply</button>'


def as_html(error: ProgramError, *, can_apply: bool = False) -> str:
    """The error box; every part but the markup is escaped. `can_apply` offers the error's fix."""
    where = f"Line {error.line}: " if error.line else ""
    parts = [f"<div><b>{where}</b>{escape(error.message)}</div>"]
    if error.text.strip():
        parts.append(f"<pre>{escape(_pointed(error))}</pre>")
    button = apply_button(error.fix) if can_apply else ""
    if error.hint or button:
        parts.append(f'<div class="ax-hint">{escape(error.hint)} {button}</div>')
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
