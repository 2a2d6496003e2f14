"""The jobs "run", a program's text to its Trace, and "replay", one press on a reader's problem."""

from __future__ import annotations

from typing import Any

from explorer import trace
from explorer.sandbox.context import Context
from explorer.trace import to_plain
from explorer.training.replay import replay


def answer(request: Any, context: Context) -> Any:
    """In the child: run the program under the child's deadline."""
    found = trace.run(**request, on_line=context.on_line, deadline=context.deadline)
    return to_plain(found)


def replayed(request: Any, context: Context) -> Any:
    """In the child: one press of `explorer.training.RemoteSession`; progress is iterations done."""
    return replay(request, context.progress, deadline=context.deadline, on_line=context.on_line)
