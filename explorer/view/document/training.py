"""A training run as a document: the problem, the runs compared, their loss, every step, and the
arithmetic of the last one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from explorer import limits
from explorer.program import ProgramError
from explorer.trace.text import number, shape_text
from explorer.training import ParameterView, Point, View
from explorer.training.derivation import Update, flat_index
from explorer.training.formatting import element_name, pluralize
from explorer.view import values
from explorer.view.answers import error_html
from explorer.view.document import page, sheet
from explorer.view.mathml import math_html
from explorer.view.plot import Blank, Plot

#: So many numbers of all parameters together have a column each among the steps, and their
#: arithmetic is written out.
_FEW = 12


@dataclass(frozen=True)
class ShownRun:
    """A run of the page: its name, its settings as text, its state and its path."""

    name: str
    settings: str
    view: View
    points: Sequence[Point]


def training_document(
    title: str,
    note: str,
    texts: Mapping[str, str],
    runs: Sequence[ShownRun],
    plots: Mapping[str, tuple[Plot | Blank, int]],
    *,
    at: tuple[str, int],
    error: ProgramError | None = None,
) -> str:
    """One HTML file. `texts` are the problem's, by their headings; the reader's own run comes first
    in `runs`; `at` is the name of the parameter, and the place in it, flattened, of the number
    whose arithmetic is on the screen."""
    ours = runs[0]
    track = ours.view.track
    summary = [ours.settings, pluralize(track.steps, "step"), f"seed {ours.view.seed}"]
    if track.loss.values:
        summary.append(f"loss {number(track.loss.values[-1])}")
    source = [f"<h3>{escape(name)}</h3>{sheet.listing(text)}" for name, text in texts.items()]
    body = "".join(
        (
            f"<h1>{escape(title)}</h1><p class='ax-note'>{escape(' · '.join(summary))}</p>",
            page.notes(filter(None, [note, track.trouble])),
            error_html(error) if error else "",
            f'<div id="two">{page.section("Loss", page.charts())}',
            page.section("Program", *source, id="source") + "</div>",
            page.section("Runs", _runs(runs)) if len(runs) > 1 else "",
            page.section("Numbers", _numbers(ours.view)),
            page.section(*_arithmetic(ours.view, at)),
            page.section("Steps", *_steps(ours)),
        )
    )
    return sheet.sheet(title, body, plots)


def _runs(runs: Sequence[ShownRun]) -> str:
    rows = (
        (run.name, run.settings, f"{run.view.track.steps:,}", _last(run.view.track.loss.values))
        for run in runs
    )
    return sheet.table("Runs", ("run", "settings", "steps", "last loss"), rows)


def _last(numbers: Sequence[float]) -> str:
    return number(numbers[-1]) if numbers else ""


def _numbers(view: View) -> str:
    """Every parameter with its tensors; of a large one the corners."""
    buffers = dict.fromkeys(name for p in view.parameters.values() for name in p.buffers)
    shown = list(view.parameters.values())[: limits.SHEET_ROWS]
    rows = (
        [
            f"{p.name} {shape_text(p.value.shape) if p.value.shape else ''}".rstrip(),
            *map(_text, _tensors(p, buffers)),
        ]
        for p in shown
    )
    table = sheet.table("Numbers", ("parameter", "value", ".grad", *buffers, "last update"), rows)
    left = len(view.parameters) - len(shown)
    return table + page.notes([f"{left:,} other parameters are not in this file."] if left else [])


def _tensors(p: ParameterView, buffers: Mapping[str, None]) -> list[np.ndarray | None]:
    return [p.value, p.grad, *(p.buffers.get(name) for name in buffers), p.update]


def _text(array: np.ndarray | None) -> str:
    return values.text(array, rows=4, columns=4)


def _arithmetic(view: View, at: tuple[str, int]) -> tuple[str, str]:
    """A heading, and the step as formulas and with its numbers: of all parameters, or of the number
    on the screen where they have many."""
    title = "The last step" if view.step.last else "A step taken now"
    updates = view.step.last or view.step.next
    total = sum(p.value.size for p in view.parameters.values())
    places = [(name, i) for name, p in view.parameters.items() for i in range(p.value.size)]
    wanted = places if total <= _FEW else [at]
    formulas: dict[str, str] = {}
    sums = []
    for name, place in wanted:
        update, shape = updates.get(name), view.parameters[name].value.shape
        index = None if update is None else flat_index(update.after, place, shape)
        if update is None or index is None:
            continue
        formulas |= _formulas(update)
        index_shown = tuple(int(i) for i in np.unravel_index(place, shape)) if shape else ()
        lines = "".join(f"<div>{escape(line)}</div>" for line in update.at(index))
        named = escape(element_name(name, index_shown))
        sums.append(f'<h3>{named}</h3><div class="sum">{lines}</div>')
    rules = "".join(
        f"<div>{math_html(formula)}<span class='ax-note'>{escape(meaning)}</span></div>"
        for formula, meaning in formulas.items()
    )
    return title, f'<div class="rule">{rules}</div>{"".join(sums)}' if sums else ""


def _formulas(update: Update) -> dict[str, str]:
    return {line.formula: line.meaning for line in update.lines if line.formula}


def _steps(run: ShownRun) -> Iterator[str]:
    """The table of all steps; of many the first and the last."""
    view, track = run.view, run.view.track
    by_step = {point.steps: point.values for point in run.points}
    loss, norm, lr = (
        dict(zip(curve.steps, curve.values, strict=True))
        for curve in (track.loss, track.norm, track.lr)
    )
    steps = sorted(by_step.keys() | loss.keys())
    if len(steps) > limits.SHEET_ROWS:
        half = limits.SHEET_ROWS // 2
        yield page.notes([f"Of {track.steps:,} steps, the first {half} and the last {half}."])
        steps = [*steps[:half], *steps[-half:]]
    elements = [
        (name, index)
        for name, p in view.parameters.items()
        for index in (np.ndindex(p.value.shape) if _is_few(view) else ())
    ]
    has_rates = len(set(track.lr.values)) > 1
    headings = ["step", "loss", "gradient norm", *(["lr"] if has_rates else [])]
    rows = (
        [
            f"{step:,}",
            *(number(curve[step]) if step in curve else "" for curve in (loss, norm)),
            *([number(lr[step]) if step in lr else ""] if has_rates else []),
            *(number(by_step[step][n][i]) if step in by_step else "" for n, i in elements),
        ]
        for step in steps
    )
    yield sheet.table("Steps", [*headings, *(element_name(n, i) for n, i in elements)], rows)
    if elements:
        yield page.notes(
            ["Loss, gradients and parameters are those after so many steps were taken."]
        )


def _is_few(view: View) -> bool:
    return sum(p.value.size for p in view.parameters.values()) <= _FEW
