"""The job "run": a program's text to its Trace."""

from __future__ import annotations

from typing import Any

from explorer import trace
from explorer.sandbox.context import Context
from explorer.trace import to_plain


def answer(request: Any, context: Context) -> Any:
    """In the child: run the program under the child's deadline."""
    found = trace.run(**request, on_line=context.on_line, deadline=context.deadline)
    return to_plain(found)
