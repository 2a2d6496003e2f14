"""The numbers of the Expression page that follow a drag."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from explorer.trace import Trace
from explorer.trace.pass_hooks import hooked_tensors
from explorer.trace.recording.pass_graph import node_numbers
from explorer.trace.text import array_lines, shortened
from explorer.ui.common.drag import Numbers, follow_drag
from explorer.ui.common.inputs import input_numbers
from explorer.ui.expression.curve import result_of, result_place
from explorer.ui.expression.graph_panel import GraphPanel, records_after
from explorer.ui.expression.program import LINE_VALUES, ProgramRun
from explorer.ui.expression.tensor_table import shown_tensors, tensor_columns, tensor_rows

_GRAD_FN = re.compile(", (grad_fn=<[^<>]*>|requires_grad=True)")
#: Most characters of a value at the end of a line.
_WIDEST = 60


def follow(run: ProgramRun, graph: GraphPanel | None) -> None:
    """Let the page's numbers follow what is dragged."""
    shown = graph.shown.number if graph else None
    is_shown = not run.hidden and not run.failure
    numbers = partial(page_numbers, shown) if is_shown else _no_numbers
    settings = {"capture": run.trace.capture, "upstream": run.upstream}
    follow_drag(run.trace, numbers=numbers, settings=settings)


def _no_numbers(trace: Trace) -> Numbers:
    """Of a run whose gradients are hidden."""
    return {}


def page_numbers(shown: int | None, trace: Trace) -> Numbers:
    """The numbers of a trace as the graph of the pass `shown`, the table, the handles and the ends
    of lines show them."""
    titles = [column.title for column in tensor_columns(trace.tensors)]
    return {
        "nodes": _graph_numbers(shown, trace),
        "rows": {
            str(row.id): dict(zip(titles, row.cells, strict=False))
            for row in tensor_rows(shown_tensors(trace))
        },
        "inputs": input_numbers(trace),
        "lines": {str(line): text for line, text in line_ends(trace).items()},
        "result": _result(trace),
    }


def line_ends(trace: Trace) -> dict[int, str]:
    """What stands at the ends of lines: the value of every bare expression and, if the reader wants
    them, value and gradient of the tensor that a line names."""
    ends = {line: _one_line(_GRAD_FN.sub("", text).split("\n")) for line, text in trace.echo}
    if st.session_state.get(LINE_VALUES):
        for tensor in trace.tensors:
            if tensor.line and tensor.named and not tensor.scope:
                end = _one_line(array_lines(tensor.value))
                if grad := array_lines(tensor.grad):
                    end += f" · grad {_one_line(grad)} {tensor.grad_note}".rstrip()
                ends[tensor.line] = end
    return ends


def _one_line(lines: list[str]) -> str:
    first, *more = lines or [""]
    shown = shortened(first, _WIDEST)
    return f"{shown}…" if more and shown == first else shown


def _graph_numbers(shown: int | None, trace: Trace) -> Mapping[str, Any]:
    drawn = next((p for p in trace.passes if p.number == shown), None)
    if drawn is None:
        return {}
    hooks = {number: hooked.label for number, hooked in hooked_tensors(trace, drawn).items()}
    return node_numbers(drawn.nodes, records_after(trace, drawn), hooks)


def _result(trace: Trace) -> dict[str, Any]:
    """What the curve shows."""
    record = result_of(trace)
    return {} if record is None else {"value": result_place(trace, record).result}
