"""What of a run is kept: plain, rounded and short enough to be read in a difference."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from explorer import prove, run
from explorer.program import figures
from explorer.trace import Array, BackwardPass, Figure, Summary, TensorRecord, to_plain
from explorer.trace.records import BackwardStep, Event

#: Most elements of an array that are kept whole, and most characters of a text.
WHOLE, LONGEST = 6, 400
#: Most tensors of a program, and steps of a pass, that have a line each.
MOST = 20
#: Significant digits of a number.
DIGITS = 6


def facts_of(source: str) -> dict[str, Any]:
    """What the program does and what is said of it; what is empty is left out."""
    trace = replace(run(source), seconds=0.0)  # however slow the machine is, all answers are tried
    facts = {
        "output": _text(trace.output),
        "error": _round(to_plain(trace.error)),
        "variables": {name: _variable(value) for name, value in trace.variables.items()},
        "tensors": _many(trace.tensors, _tensor),
        "passes": [_pass(one) for one in trace.passes],
        "pass_count": trace.pass_count,
        "events": [trace.event_count, _digest([_event(event) for event in trace.events])],
        "curves": {f"{c.kind} {c.name}": _array(np.array(c.values)) for c in trace.curves},
        "notes": list(trace.notes),
        "notices": list(trace.notices),
        "echo": [[line, _text(text)] for line, text in trace.echo],
        "inputs": _round(trace.inputs),
        "completed": "" if trace.completed == source else _digest(trace.completed),
        "figures": [_figure(figure) for figure in trace.figures],
        "needs_upstream": trace.needs_upstream,
        "answers": [[a.key, a.line, a.title, a.text, a.cure, list(a.names)] for a in trace.answers],
        "tried": [[a.key, a.tried, _digest(a.fix) if a.fix else ""] for a in prove(trace).answers],
    }
    empty = (None, "", 0, [], {}, [0, _digest([])], False)
    return {name: fact for name, fact in facts.items() if fact not in empty}


def _event(event: Event) -> dict[str, Any]:
    """What happened, and how often."""
    fact: dict[str, Any] = to_plain(event)
    for key in ("visit", "mode", "object", *(["times", "until"] if event.times == 1 else [])):
        del fact[key]
    return fact


def _many(items: Sequence[Any], fact: Callable[[Any], Any]) -> list[str]:
    """A line for each of the first, and one for all that follow."""
    lines = [json.dumps(fact(item), ensure_ascii=False) for item in items]
    rest = lines[MOST:]
    return lines[:MOST] + ([f"and {len(rest)} more: {_digest(rest)}"] if rest else [])


def _tensor(record: TensorRecord) -> list[Any]:
    kept = [record.name, record.line, list(record.shape), record.dtype, _array(record.value)]
    if record.grad is not None:
        kept += [_array(record.grad), record.grad_from]
    return kept + ([record.why_none.text] if record.why_none else [])


def _variable(value: Any) -> Any:
    if isinstance(value, TensorRecord):
        return _tensor(value)
    text = json.dumps(_round(to_plain(value)))
    return text if len(text) <= LONGEST else _digest(text)


def _pass(one: BackwardPass) -> list[Any]:
    """The graph, and every step with its rule."""
    graph = [to_plain(one.nodes), to_plain(one.edges), one.dot]
    sizes = [len(one.nodes), len(one.edges), one.step_count]
    steps = _many(one.steps, _step)
    return [one.number, one.line, one.call, one.root, *sizes, _digest(graph), *steps]


def _step(step: BackwardStep) -> list[Any]:
    return [step.node, step.name, step.formula, step.words, [_array(g) for g in step.grads_in]]


def _figure(figure: Figure) -> list[Any]:
    """Where it was shown, and what matplotlib drew."""
    return [figure.line, figure.position, *json.loads(figure.alt)]


def _drawn(drawn: Any, name: str = "") -> str:
    """The size of a figure, and a digest of the data of each of its panels, in place of what it
    shows in words."""
    panels = []
    for axes in drawn.axes:
        labels = [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()]
        lines = [_array(np.asarray(line.get_xydata(), float)) for line in axes.lines]
        images = [_array(np.asarray(image.get_array(), float)) for image in axes.images]
        panels.append([labels, lines, images, len(axes.collections), len(axes.patches)])
    return json.dumps([[*map(float, drawn.get_size_inches())], _digest(panels)])


figures.describe = _drawn


def _array(value: Array | None) -> Any:
    """Few numbers as they are; of many, the shape, and mean and norm of those that are finite."""
    if value is None:
        return None
    if isinstance(value, Summary):
        return [list(value.shape), *_round([value.mean, value.norm, value.nonfinite])]
    if value.dtype.kind not in "biufc":
        return _text(str(value.tolist()))
    if value.size <= WHOLE:
        return _round(to_plain(value.tolist()))
    finite = value[np.isfinite(value)].astype(complex if value.dtype.kind == "c" else float)
    mean = abs(finite.mean()) if finite.size else 0.0
    return [
        list(value.shape),
        *_round([float(mean), float(np.linalg.norm(finite)), value.size - finite.size]),
    ]


def _text(text: str) -> Any:
    """The text, or its beginning and a digest."""
    if len(text) <= LONGEST:
        return text
    return [text[:LONGEST], len(text), _digest(text)]


def _round(value: Any) -> Any:
    """The same with every number rounded to `DIGITS` significant digits."""
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else str(value)
    if isinstance(value, complex):
        return [_round(value.real), _round(value.imag)]
    if isinstance(value, dict):
        return {str(name): _round(item) for name, item in value.items()}
    return [_round(item) for item in value]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
