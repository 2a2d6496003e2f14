"""A Trace as a notebook shows it: what was said and printed, the graph, the tensors, the answers.

Everything stands in the HTML itself: no script, no style sheet, nothing that is fetched. Every word
of the program is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from explorer import limits
from explorer.program import ProgramError
from explorer.trace.colours import FAINT, GRADIENT, HOOK, INK, PAPER, SECONDARY
from explorer.trace.explain.order import can_be_tried
from explorer.trace.records import Answer, TensorRecord, Trace
from explorer.trace.text import array_lines, shape_text, shortened
from explorer.view import graphviz
from explorer.view.drawn_pass import make_graph
from explorer.view.fix import changed_lines

_COLOURS = {"faint": FAINT, "gradient": GRADIENT, "hook": HOOK}
_WORD = re.compile(r'class="(faint|gradient|hook)"')
_SIZE = re.compile(r'<svg width="(\d+)pt" height="(\d+)pt"')
_CELL = 'style="text-align:left;vertical-align:top;padding:2px 12px 2px 0;white-space:pre"'
_COLUMNS = ("Tensor", "Line", "Shape", "grad_fn", "Value", "Gradient")


def to_html(trace: Trace) -> str:
    """The trace as HTML, on white paper in every theme."""
    parts = (
        *_error(trace.error),
        *_said(trace),
        *_printed(trace.output),
        *_graph(trace),
        *_table(trace.tensors),
        *_answers(trace),
    )
    return f'<div style="background:{PAPER};color:{INK};padding:8px">{"".join(parts)}</div>'


def _error(error: ProgramError | None) -> Iterable[str]:
    if error is not None:
        where = f"Line {error.line}: " if error.line else ""
        hint = f"<br/>{escape(error.hint)}" if error.hint else ""
        also = "".join(f"<br/>{escape(sentence)}" for sentence in error.also)
        yield f"<p><b>{where}{escape(error.message)}</b>{hint}{also}</p>"


def _said(trace: Trace) -> Iterable[str]:
    """What was done in another way than asked, and the warnings."""
    sentences = (*trace.notices, *(f"Warning: {note}" for note in trace.notes))
    if sentences:
        yield f'<p style="color:{SECONDARY}">{"<br/>".join(map(escape, sentences))}</p>'


def _printed(output: str) -> Iterable[str]:
    if output:
        shown, more = output[: limits.REPORT_PRINTED], len(output) - limits.REPORT_PRINTED
        rest = f"\n… {more:,} more characters" if more > 0 else ""
        yield f"<pre>{escape(shown.rstrip())}{rest}</pre>"


def _graph(trace: Trace) -> Iterable[str]:
    """The graph of the last backward pass, if `dot` is installed."""
    svg = None
    if trace.passes:
        last = trace.passes[-1]
        svg = graphviz.svg(last.dot or make_graph(trace, last, saved=False).dot)
    if svg is not None:
        svg = _WORD.sub(lambda word: f'fill="{_COLOURS[word[1]]}"', svg)
        svg = _SIZE.sub(r'<svg style="max-width:100%;height:auto" width="\1pt" height="\2pt"', svg)
        yield f'<div style="overflow:auto;max-height:600px">{svg}</div>'


def _table(tensors: Sequence[TensorRecord]) -> Iterable[str]:
    if not tensors:
        return
    head = "".join(f"<th {_CELL}>{title}</th>" for title in _COLUMNS)
    rows = "".join(map(_row, tensors[: limits.REPORT_ROWS]))
    yield f'<table style="font-family:monospace"><tr>{head}</tr>{rows}</table>'
    if len(tensors) > limits.REPORT_ROWS:
        yield f"<p>The first {limits.REPORT_ROWS} of {len(tensors):,} tensors.</p>"


def _row(record: TensorRecord) -> str:
    why = record.why_none.text if record.why_none else ""
    gradient = "\n".join(array_lines(record.grad)) or f"None. {why}".rstrip(". ")
    line = str(record.line or "input")
    value = "\n".join(array_lines(record.value))
    cells = (
        record.name,
        line,
        shape_text(record.shape),
        record.autograd.grad_fn or "",
        value,
        gradient,
    )
    return f"<tr>{''.join(f'<td {_CELL}>{escape(cell)}</td>' for cell in cells)}</tr>"


def _answers(trace: Trace) -> Iterator[str]:
    """The answers with their changes and what these showed; of those that wait for being tried,
    only how many there are."""
    waiting = [answer for answer in trace.answers if can_be_tried(answer) and not answer.tried]
    yield from (_answer(a, trace.source) for a in trace.answers if a not in waiting)
    if waiting:
        count = f"{len(waiting)} answer{'s' if len(waiting) > 1 else ''}"
        call = f"{count} not tried yet: call explorer.prove(trace)."
        yield f'<p style="color:{SECONDARY}">{call}</p>'


def _answer(answer: Answer, source: str) -> str:
    cure = f"<br/>{escape(answer.cure)}" if answer.cure else ""
    tried = f"<br/>{escape(answer.tried)}" if answer.tried else ""
    change = "".join(_change(source, answer.fix)) if answer.fix else ""
    title, text = escape(answer.title), escape(answer.text)
    return f'<div style="margin:8px 0"><b>{title}</b> {text}{cure}{change}{tried}</div>'


def _change(source: str, fix: str) -> Iterable[str]:
    """The lines that a fix changes."""
    lines = changed_lines(source, fix)
    rows = [
        f"{line.sign} {shortened(line.text, limits.CHANGE_CHARACTERS)}"
        for line in lines[: limits.REPORT_CHANGE_LINES]
    ]
    more = (
        [f"… {len(lines) - limits.REPORT_CHANGE_LINES} more lines"]
        if len(lines) > limits.REPORT_CHANGE_LINES
        else []
    )
    text = "\n".join((*rows, *more))
    yield f'<pre style="margin:4px 0">{escape(text)}</pre>'
