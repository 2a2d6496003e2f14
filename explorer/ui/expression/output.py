"""What the program printed and the figures it drew, in their order."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html import escape

import numpy as np
import streamlit as st

from explorer import limits, sandbox
from explorer.program import ProgramRefused
from explorer.program.notebook import find_cells
from explorer.trace import Figure, Trace
from explorer.trace.text import as_on_a_terminal, outside_numbers
from explorer.ui.server.sandbox_call import ask, forget
from explorer.ui.server.shared_cache import SharedCache
from explorer.ui.widgets.basics import download

#: Dots of a figure on the screen for each CSS pixel.
_SHARPNESS = 1.5

#: The key in the session of the figures that could not be shown, by slot.
_FAILED = "figures.failed"

_repainted_figures: SharedCache[bytes] = SharedCache(limits.FIGURES_KEPT)


def draw_output(trace: Trace) -> None:
    """Show what the program printed, its figures, and the first sentence of each
    warning. Figures come one after the other, without blocking the page."""
    has_label, is_waiting = False, False
    for part in parts(trace):
        if isinstance(part, str):
            title = "" if has_label else '<div class="ax-label">Printed</div>'
            st.html(f'{title}<pre class="ax-printed">{escape(part)}</pre>')
            has_label = True
        elif isinstance(part, tuple):
            line, text = part
            st.html(f'<pre class="ax-printed ax-echo" title="Line {line}">{escape(text)}</pre>')
        elif not is_waiting:
            is_waiting = not _draw_figure(part, trace.figures)
    for warning in trace.notes:
        first = escape(warning.partition(". ")[0].rstrip("."))
        st.html(f'<div class="ax-note" title="{escape(warning)}">Warning: {first}.</div>')


def parts(trace: Trace) -> Iterator[str | int | tuple[int, str]]:
    """The printed text, and between its parts the numbers of the figures shown there, and of a
    program with cells their last values, each with its line."""
    shown: list[tuple[int, int, int | tuple[int, str]]] = [
        (figure.position, figure.line, number) for number, figure in enumerate(trace.figures)
    ]
    if find_cells(trace.source):
        values = zip(trace.echo_at, trace.echo, strict=True)
        shown += [(at, line, (line, text)) for at, (line, text) in values]
    shown.sort(key=lambda item: item[:2])
    most = max(limits.PRINTED // (len(shown) + 1), limits.PRINTED_PART)
    start = 0
    for position, _, item in shown:
        end = min(max(position, start), len(trace.output))
        yield from _shortened(trace.output[start:end], most)
        yield item
        start = end
    yield from _shortened(trace.output[start:], most)


def _shortened(text: str, most: int) -> Iterator[str]:
    text, half = as_on_a_terminal(text).strip("\n"), most // 2
    if len(text) > most:
        start, end = outside_numbers(text, half), outside_numbers(text, len(text) - half)
        text = f"{text[:start]}\n… {end - start:,} characters …\n{text[end:]}"
    if text.strip():
        yield text


def _draw_figure(number: int, figures: tuple[Figure, ...]) -> bool:
    """Show a figure with its description and its download; False while it is being prepared."""
    figure = figures[number]
    place = st.empty()  # always there, so that what follows keeps its place on the page
    label = f"Preparing figure {number + 1} of {len(figures)}"
    png = _repainted(figure, f"figure-{number}", label, place)
    if png is None:
        return False
    if isinstance(png, str):
        place.html(f'<div class="ax-note">Figure {number + 1}: {escape(png)}</div>')
        return True
    with place.container(gap=None):
        data, alt = base64.b64encode(png).decode(), escape(figure.alt, quote=True)
        width = round(figure.width / _SHARPNESS)
        st.html(
            f'<figure class="ax-figure"><img src="data:image/png;base64,{data}" alt="{alt}" '
            f'width="{width}"/></figure>'
        )
        download(
            lambda: png,
            f"figure-{number + 1}.png",
            f"Figure {number + 1}, {figure.width} × {figure.height} pixels",
            key=f"figure-{number}",
        )
    return True


def _repainted(figure: Figure, slot: str, label: str, place: object) -> bytes | str | None:
    """The figure as PNG, or why there is none; None while it is being written."""
    key = _key(figure)
    known = _repainted_figures.get(key)
    if known is not None:
        return known
    failures: dict[str, tuple[str, Figure, str]] = st.session_state.setdefault(_FAILED, {})
    failed_key, failed, message = failures.get(slot, ("", None, ""))
    if failed_key == key and failed is figure:
        return message
    submit = partial(
        sandbox.submit_repaint,
        figure,
        timeout=min(limits.FIGURE_SECONDS, sandbox.options().seconds),
    )
    try:
        png: bytes | None = ask(slot, key, submit, label=label, place=place, shared=True)
    except ProgramRefused as refused:
        # It may be the machine's fault: it is tried again once the program has run again.
        message = refused.error.message.replace("The program", "Preparing it", 1)
        message = f"{message} {refused.error.hint}"
        failures[slot] = (key, figure, message)
        return message
    if png is not None:
        forget(slot)
        _repainted_figures.put(key, png)
    return png


def _key(figure: Figure) -> str:
    return hashlib.blake2b(figure.png.tobytes()).hexdigest()


def with_repainted_figures(trace: Trace) -> Trace:
    """The trace with its figures as they are on the page; a note says which are not there yet."""
    figures, notes = [], list(trace.notes)
    for number, figure in enumerate(trace.figures, 1):
        png = _repainted_figures.get(_key(figure))
        if png is None:
            notes.append(f"Figure {number} was not on the page yet, so it is not in this file.")
        else:
            figures.append(replace(figure, png=np.frombuffer(png, np.uint8)))
    return replace(trace, figures=tuple(figures), notes=tuple(notes))
