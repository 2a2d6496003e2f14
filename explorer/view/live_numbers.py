"""The numbers of a run that follow a drag, by the part of the page that shows them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from explorer import limits
from explorer.trace import Trace
from explorer.trace.text import array_lines, shortened
from explorer.view import drawn_pass
from explorer.view.curves import leaf_of, result_of, result_place
from explorer.view.leaves import text_leaves
from explorer.view.tensors import shown_tensors, tensor_columns, tensor_rows

#: The numbers of a frame: by part of the page and name.
Numbers = Mapping[str, Mapping[str, Any]]

_GRAD_FN = re.compile(", (grad_fn=<[^<>]*>|requires_grad=True)")
#: Most characters of a value at the end of a line.
_WIDEST = 60


def page_numbers(
    shown: int | None, named: bool, trace: Trace, asked: Collection[str] = ()
) -> Numbers:
    """The numbers of a trace as the graph of the pass `shown`, the table, the handles and the ends
    of lines show them; `named` as in `line_ends`, `asked` as in `factors_of`."""
    titles = [column.title for column in tensor_columns(trace.tensors)]
    return {
        **graph_numbers(shown, trace, asked),
        "rows": {
            str(row.id): dict(zip(titles, row.cells, strict=False))
            for row in tensor_rows(shown_tensors(trace))
        },
        "inputs": input_numbers(trace),
        "lines": {str(line): text for line, text in line_ends(trace, named).items()},
        "result": _result(trace),
    }


def graph_numbers(shown: int | None, trace: Trace, asked: Collection[str] = ()) -> Numbers:
    """The numbers in the graph of the pass with this number: of its nodes, and on its edges but
    those `asked`."""
    drawn = next((p for p in trace.passes if p.number == shown), None)
    return drawn_pass.numbers_of(trace, drawn, asked) if drawn is not None else {}


def input_numbers(trace: Trace) -> dict[str, Any]:
    """By name, what the handles of a run show of its inputs, and then of the leaves made in its
    text: the value, and the gradient as text."""
    found = [(name, value, leaf_of(trace, name)) for name, value in trace.inputs.items()]
    found += [(name, leaf.value, leaf.record) for name, leaf in text_leaves(trace).items()]
    del found[limits.MOST_INPUTS :]
    grads = ["\n".join(array_lines(leaf.grad)) if leaf else "" for _, _, leaf in found]
    numbers = zip(found, grads, strict=True)
    return {name: {"value": value, "grad": grad or "None"} for (name, value, _), grad in numbers}


def line_ends(trace: Trace, named: bool) -> dict[int, str]:
    """What stands at the ends of lines: the value of every bare expression and, with `named`, value
    and gradient of the tensor that a line names."""
    ends = {line: _one_line(_GRAD_FN.sub("", text).split("\n")) for line, text in trace.echo}
    if named:
        for tensor in trace.tensors:
            if tensor.line and tensor.named and not tensor.origin.scope:
                end = _one_line(array_lines(tensor.value))
                if grad := array_lines(tensor.grad):
                    end += f" · grad {_one_line(grad)} {tensor.grad_note}".rstrip()
                ends[tensor.line] = end
    return ends


def _one_line(lines: list[str]) -> str:
    first, *more = lines or [""]
    shown = shortened(first, _WIDEST)
    return f"{shown}…" if more and shown == first else shown


def _result(trace: Trace) -> dict[str, Any]:
    """What the curve shows."""
    record = result_of(trace)
    return {} if record is None else {"value": result_place(trace, record).result}
