"""The jobs on programs: "run", "replay" (one press on a reader's problem) and "check"."""

from __future__ import annotations

from typing import Any

from explorer import trace
from explorer.sandbox.context import Context
from explorer.trace import to_plain
from explorer.trace.check import check
from explorer.training.replay import replay


def answer(request: Any, context: Context) -> Any:
    """In the child: run the program under the child's deadline."""
    found = trace.run(**request, on_line=context.on_line, deadline=context.deadline)
    return to_plain(found)


def replayed(request: Any, context: Context) -> Any:
    """In the child: one press of `explorer.training.RemoteSession`; progress is iterations done."""
    return replay(request, context.progress, deadline=context.deadline, on_line=context.on_line)


def checked(request: Any, context: Context) -> Any:
    """In the child: the numerical check of a program's last backward."""
    return to_plain(check(**request, deadline=context.deadline))
