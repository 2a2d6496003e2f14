"""What can be downloaded of a run: the graph, the trace, a plain PyTorch script."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from explorer.trace import Trace, to_plain
from explorer.trace.script import script
from explorer.ui.common.downloads import file, graph_files
from explorer.ui.common.widgets import menu
from explorer.ui.expression.program import ProgramRun


def downloads(run: ProgramRun, dot: str | None) -> None:
    """A menu of files; those of the graph only where there is one. While gradients are hidden the
    script, which would print them, is left out."""
    place = menu(
        "Download",
        icon="download",
        key="download",
        help="The graph, all numbers of the run, or a script that prints them",
    )
    if place is None:
        return
    with place:
        if dot is not None:
            graph_files(dot, "graph")
        file(
            "Trace as JSON",
            partial(_json, run.trace),
            "trace.json",
            "application/json",
            "Every tensor, step and event",
        )
        file(
            "Program as it was run",
            run.trace.completed.encode,
            "completed.py",
            "text/x-python",
            "With the lines that were added; needs only PyTorch",
        )
        if not run.hidden:
            file(
                "PyTorch script",
                partial(_script, run.trace, run.upstream),
                "program.py",
                "text/x-python",
                "Needs only PyTorch and prints the same table",
            )


def _script(trace: Trace, upstream: Any) -> bytes:
    return script(trace, upstream=upstream).encode()


def _json(trace: Trace) -> bytes:
    return json.dumps(to_plain(trace)).encode()
