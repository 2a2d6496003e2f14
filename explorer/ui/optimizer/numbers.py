"""Every parameter with its numbers: value, .grad, the optimizer's buffers, the last update.

Numbers that the last press changed are marked. A number can be picked: its update is written out
below. Of a large tensor a window around the picked number is shown, beside pictures of the whole.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from PIL import Image

from explorer import limits
from explorer.trace.text import number, shape_text
from explorer.training import DerivationLine, ParameterView, Update, View
from explorer.training.clipping import Clip
from explorer.training.derivation import flat_index
from explorer.training.formatting import element_name
from explorer.training.optimizer_spec import OptimizerSpec
from explorer.training.optimizers import optimizer_spec
from explorer.ui.optimizer.workspace import Workspace
from explorer.ui.widgets.basics import while_drawn, with_formula
from explorer.ui.widgets.copy_link import ADDRESS
from explorer.ui.widgets.reconnect import keep, restore_once
from explorer.view import heatmap
from explorer.view.component import SHARED
from explorer.view.glossary import term_link

_FOLDER = Path(__file__).parent
_component = st.components.v2.component(
    "numbers",
    html='<div class="blocks"></div>',
    css=(_FOLDER / "numbers.css").read_text(encoding="utf-8"),
    js=ADDRESS + SHARED + (_FOLDER / "numbers.js").read_text(encoding="utf-8"),
)
_PICKED, _PARAMETER = "steps.picked", "parameter"
_DRAWN = "numbers.drawn"
#: Presses after which the step just taken is written out.
_STEPS = ("step", "iterate", "run")
#: A problem with at most this many numbers shows them all; a tensor with more, a window.
ALL, ROWS, COLUMNS = 16, 3, 3
#: Most rows and columns of a picture.
_CELLS = 96


@dataclass(frozen=True)
class PickedElement:
    """One number of a parameter: the parameter's name and the number's place in it, flattened."""

    name: str
    place: int

    def index(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(self.place, shape)) if shape else ()


def _picked(view: View) -> PickedElement:
    """The number the reader has picked, or the first."""
    restore_once(_PICKED, _read_picked)
    name, place = st.session_state.get(_PICKED, ("", 0))
    if name not in view.parameters:
        return PickedElement(next(iter(view.parameters)), 0)
    return PickedElement(name, place if place < view.parameters[name].value.size else 0)


def choose_parameter(view: View) -> PickedElement:
    """Draw the list of parameters where not all are shown; returns the picked number."""
    at = _picked(view)
    if at.place or at.name != next(iter(view.parameters)):
        keep(_PICKED, [at.name, at.place])
    if not _shows_all(view):
        st.session_state[_PARAMETER] = at.name
        st.selectbox(
            "Parameter",
            list(view.parameters),
            format_func=lambda n: f"{n} {shape_text(view.parameters[n].value.shape)}",
            key=_PARAMETER,
            label_visibility="collapsed",
            help="The parameter whose numbers and arithmetic are shown",
            on_change=lambda: _pick(st.session_state[_PARAMETER], 0),
        )
    return at


def _shows_all(view: View) -> bool:
    return len(view.parameters) == 1 or _total(view) <= ALL


def _total(view: View) -> int:
    return sum(p.value.size for p in view.parameters.values())


def draw_numbers(
    view: View,
    before: View | None,
    second: View | None,
    at: PickedElement,
    link: Mapping[str, Any],
) -> None:
    """Draw the parameters; all of them where they are few, otherwise the picked one. `second` is
    the state of the run to compare with, `link` what the page's link has of the run."""
    names = list(view.parameters) if _shows_all(view) else [at.name]
    blocks = [_block(name, view, before, second, at) for name in names]

    def on_click() -> None:
        clicked = st.session_state.numbers.clicked
        if isinstance(clicked, dict):
            _pick(clicked.get("name"), clicked.get("place"))

    _component(
        key="numbers",
        data={
            "blocks": blocks,
            "link": dict(link),
            "picked": {"name": at.name, "place": at.place} if _total(view) > 1 else {},
        },
        on_clicked_change=while_drawn("numbers", on_click),
    )


def _pick(name: Any, place: Any) -> None:
    """Pick a number; nothing for what a browser may send as well."""
    with suppress(ValueError):
        st.session_state[_PICKED] = _read_picked([name, place])


def _read_picked(given: Any) -> tuple[str, int]:
    """A name and a place from the browser. Raises ValueError."""
    name, place = given
    if not isinstance(name, str) or type(place) is not int or place < 0:
        raise ValueError
    return name, place


#: Labels of tensors shown with all rows of the window.
_TALL = ("value", ".grad")
#: What each label means, and the term of the glossary it opens.
LABELS = {
    "value": ("The parameter itself", "parameter"),
    ".grad": ("The gradient stored by backward; step uses it", "gradient"),
    "last update": ("New value minus old value in the last step", "step"),
}


def _block(
    name: str, view: View, before: View | None, second: View | None, at: PickedElement
) -> dict[str, Any]:
    now = view.parameters[name]
    old = before.parameters.get(name) if before else None
    other = second.parameters.get(name) if second else None
    shape = now.value.shape
    place = at.place if at.name == name else 0
    spec = optimizer_spec(view.optimizer)
    start = _start(shape, place)
    rows = [
        _row(
            spec, label, _get(now, label), _get(old, label) if old else _ABSENT, shape, start, place
        )
        for label in ("value", ".grad", *now.buffers, "last update")
    ]
    if other is not None:
        rows += [
            _row(spec, label, _get(other, label), _ABSENT, shape, start, place) | {"beside": True}
            for label in _TALL
        ]
    size = _table(shape)
    window = size[0] > ROWS or size[1] > COLUMNS
    return {
        "name": name,
        "shape": shape_text(shape),
        "rows": rows,
        "window": window,
        "columns": list(range(start[1], min(start[1] + COLUMNS, size[1]))) if window else [],
        "maps": [_map(title, array) for title, array in _mapped(now)] if window else [],
    }


_ABSENT: Any = object()


def _get(parameter: ParameterView, label: str) -> np.ndarray | None:
    plain = {"value": parameter.value, ".grad": parameter.grad, "last update": parameter.update}
    return plain[label] if label in plain else parameter.buffers.get(label)


def _table(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns in which a tensor is written down: the last axis runs along the row."""
    columns = shape[-1] if shape else 1
    return int(np.prod(shape[:-1], dtype=int)) if shape else 1, columns


def _start(shape: tuple[int, ...], place: int) -> tuple[int, int]:
    """Where the window begins, so that the place is in it."""
    rows, columns = _table(shape)
    row, column = divmod(place, columns)
    return (
        max(0, min(row - ROWS // 2, rows - ROWS)),
        max(0, min(column - COLUMNS // 2, columns - COLUMNS)),
    )


def _row(
    spec: OptimizerSpec,
    label: str,
    array: np.ndarray | None,
    old: Any,
    shape: tuple[int, ...],
    start: tuple[int, int],
    place: int,
) -> dict[str, Any]:
    """One tensor of the parameter as texts; `index` are the leading indices of each row."""
    help, term = LABELS.get(label) or (spec.state.get(label, "Stored by the optimizer"), spec.term)
    row = {"label": label, "help": help, "term": term, "index": []}
    if array is None:
        return row | {"grid": [[{"text": "None", "changed": isinstance(old, np.ndarray)}]]}
    whole = array.shape == shape  # otherwise a counter, or one number for each row or column
    same = isinstance(old, np.ndarray) and old.shape == array.shape
    differs = ~_equal(array, old) if same else np.full(array.shape, whole and old is None)
    rows, columns = _table(array.shape)
    values, marks = array.reshape(rows, columns), differs.reshape(rows, columns)
    top, left = min(start[0], rows - 1), min(start[1], columns - 1)
    height = ROWS
    if whole and label not in _TALL and rows > ROWS:  # the picked number's row is enough
        top, height = place // columns, 1
    shown = range(top, min(top + height, rows))
    grid = [
        [
            {"text": number(values[r, c]), "changed": bool(marks[r, c])}
            | ({"place": r * columns + c} if whole else {})
            for c in range(left, min(left + COLUMNS, columns))
        ]
        for r in shown
    ]
    return row | {"grid": grid, "index": [_index(array.shape, r) for r in shown]}


def _equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray((a == b) | ((a != a) & (b != b)))


def _index(shape: tuple[int, ...], row: int) -> str:
    if len(shape) < 2:
        return ""
    return ", ".join(str(int(i)) for i in np.unravel_index(row, shape[:-1]))


def _mapped(parameter: ParameterView) -> list[tuple[str, np.ndarray]]:
    arrays = [("value", parameter.value), (".grad", parameter.grad)]
    return [(title, a) for title, a in arrays if a is not None and a.dtype.kind == "f"]


def _map(title: str, array: np.ndarray) -> dict[str, Any]:
    """A picture around zero, the first axis downwards, all others along the row."""
    flat = array.reshape(len(array), -1) if array.ndim > 1 else array.reshape(1, -1)
    shown = flat[:_CELLS, :_CELLS]
    out = io.BytesIO()
    Image.fromarray(heatmap.colours(shown.astype(float))).save(out, "PNG")
    top = float(np.nanmax(np.abs(shown))) if np.isfinite(shown).any() else 0.0
    cut = "" if shown.shape == flat.shape else f", first {shown.shape[0]} × {shown.shape[1]}"
    return {
        "title": f"{title} ±{number(top)}{cut}",
        "src": "data:image/png;base64," + base64.b64encode(out.getvalue()).decode(),
        "alt": f"{title} as colours: blue is negative, white 0, red positive (±{number(top)})",
        "file": f"{title.strip('.')}.png",
        "rows": shown.shape[0],
        "columns": shown.shape[1],
        "stride": flat.shape[1],
    }


def drawn_element(workspace: Workspace) -> PickedElement:
    """The number whose update the reader sees."""
    first = PickedElement(next(iter(workspace.view.parameters)), 0)
    at: PickedElement = workspace.cache.get(_DRAWN, first)
    return at


def draw_update(workspace: Workspace, at: PickedElement) -> None:
    """Write out the update of the picked number: of the last step if that was the last press,
    otherwise of a step taken now."""
    view = workspace.view
    workspace.cache[_DRAWN] = at
    action = workspace.event.action if workspace.event is not None else ""
    clip = {"backward": view.clip.next, "clip": view.clip.last}.get(action)
    if clip is not None and workspace.run is None:
        _draw_clip(clip, at, view.parameters[at.name].value.shape, action == "clip")
        return
    stepped = workspace.run is not None or (
        workspace.event is not None and workspace.event.action in _STEPS
    )
    last, coming = view.step.last.get(at.name), view.step.next.get(at.name)
    shown = last if (stepped and last) or coming is None else coming
    name = element_name(at.name, at.index(view.parameters[at.name].value.shape))
    if shown is None:
        if view.parameters[at.name].grad is None and view.step.next:
            _note(f"{name} has no gradient yet, so step would not change it.")
        else:
            _note(view.previews["step"])
        return
    whole = _whole_update(workspace, at, shown is last)
    index = flat_index((whole or shown).after, at.place, view.parameters[at.name].value.shape)
    if index is None:
        _note(f"The arithmetic is shown for the first {limits.WHOLE:,} numbers of a tensor.")
        return
    update = whole or shown
    title = "The last step" if shown is last else "A step taken now"
    _draw_arithmetic(
        f"<b>{title}</b> for {escape(name)}, {term_link('optimizer', update.optimizer)}",
        update.lines,
        update.at(index),
    )


def _draw_clip(clip: Clip, at: PickedElement, shape: tuple[int, ...], done: bool) -> None:
    """Write out the clipping of all gradients, and of the picked number."""
    line = clip.grads.get(at.name)
    sums = [f"{each.symbol} = {each.at(())}" for each in clip.lines]
    index = None if line is None else flat_index(line.value, at.place, shape)
    if line is not None and index is not None:
        name = element_name(at.name, at.index(shape))
        sums.append(f"{name}: {line.at(index)}")
    title = "The last clipping" if done else "A clipping made now"
    shown = (*clip.lines, *([] if line is None else [line]))
    _draw_arithmetic(f"<b>{title}</b>, {escape(clip.name)}", shown, sums)


def _draw_arithmetic(title: str, lines: Sequence[DerivationLine], sums: Sequence[str]) -> None:
    """The formula of each line, equal ones once, and all lines with their numbers."""
    formulas = {line.formula: line.meaning for line in lines if line.formula}
    rows = r" \\ ".join(
        rf"&{formula} &&\footnotesize\textsf{{{_escape_latex(meaning)}}}"
        for formula, meaning in formulas.items()
    )
    with_formula(
        f'<div class="ax-sum">{title}</div>',
        rf"\begin{{aligned}}{rows}\end{{aligned}}",
        f'<div class="ax-sums">{"".join(f"<div>{escape(line)}</div>" for line in sums)}</div>',
    )


def _whole_update(workspace: Workspace, at: PickedElement, last: bool) -> Update | None:
    """The arithmetic of every number, where the view holds only the first and it is available."""
    session = workspace.session
    if at.place < limits.WHOLE:
        return None
    with workspace.lock:
        return session.last_update(at.name) if last else session.next_update(at.name)


def _escape_latex(words: str) -> str:
    return words.replace("_", r"\_")


def _note(sentence: str) -> None:
    st.html(f'<div class="ax-note ax-update">{escape(sentence)}</div>')
