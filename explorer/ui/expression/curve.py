"""Curves beside the graph: the result of a program around the values of its inputs, with its
tangent or as contours with the arrow of the gradient; the loss of a training script."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from explorer import limits, sandbox
from explorer.program import ProgramRefused
from explorer.trace import Trace
from explorer.trace.sampling import COUNTS, Samples, with_variables
from explorer.trace.text import digest
from explorer.ui.expression import iterations
from explorer.ui.expression.graph_panel import GraphPanel
from explorer.ui.expression.program import ProgramRun
from explorer.ui.server import sandbox_call
from explorer.ui.server.shared_cache import SharedCache
from explorer.ui.widgets.inputs import reach, read_inputs
from explorer.ui.widgets.mounts import mount_plots
from explorer.ui.widgets.open_network import show_network
from explorer.view.curves import (
    contours,
    contours_picture,
    curve,
    result_of,
    result_place,
    to_plot,
)
from explorer.view.drawn_pass import opens_on_modules
from explorer.view.plot import Blank, Plot

_SLOT, _LAST = "curve", "curve.last"
#: How high the curve, the contours and the curve of a loss are, in CSS pixels.
_CURVE, _CONTOURS, _LOSS = 230, 300, 190

#: What all readers share, by the name of the request: samples that no lack of time made coarse,
#: and contours, of which one takes longer to draw than the rest of the page.
_samples: SharedCache[Samples] = SharedCache(limits.SAMPLES_KEPT)
_pictures: SharedCache[str] = SharedCache(limits.CONTOURS_KEPT)


def draw_curve(run: ProgramRun) -> None:
    """Draw the result over one scalar input, or over two; nothing for other programs."""
    trace = run.trace
    result = result_of(trace)
    names = tuple(trace.inputs)
    if run.hidden or result is None or not 1 <= len(names) <= 2:
        return
    if any(isinstance(value, list) for value in trace.inputs.values()):
        return
    name, samples = _sample(trace, names, result.name)
    height = _CURVE if len(names) == 1 else _CONTOURS
    place = result_place(trace, result)
    cell: Plot | Blank = Blank("")
    if samples is not None and np.isfinite(samples.values).any():
        if len(names) == 1:
            cell = curve(samples, place, result.name)
        else:
            cell = contours(samples, _kept_picture(name, samples), place, result.name)
    mount_plots({"curve": (cell, height)}, "", key="curve")


def draw_loss(run: ProgramRun, graph: GraphPanel | None) -> None:
    """Of a training script, draw the loss over its passes, with a line at the one that is shown,
    and the way to Network."""
    trace = run.trace
    if graph is None or run.hidden or not opens_on_modules(trace, graph.shown):
        return
    loss = next((curve for curve in trace.curves if curve.kind == "loss"), None)
    if loss is not None:
        plot = to_plot(loss, trace.pass_count, graph.shown.number)
        can_choose = iterations.is_long(trace)
        chosen = mount_plots({"loss": (plot, _LOSS)}, "", key="loss", choose=can_choose)
        if chosen is not None:
            iterations.go_to(chosen)
    show_network(trace)


def _sample(trace: Trace, names: tuple[str, ...], result: str) -> tuple[str, Samples | None]:
    """A name for the samples, and the samples; None if there are none yet. What the inputs are now
    decides only how far they reach."""
    values = [(trace.inputs | read_inputs(trace.source))[name] for name in names]
    reaches = [reach(value) for value in values if not isinstance(value, list)]
    if len(reaches) != len(names):
        return "", None
    request: dict[str, Any] = {
        "source": trace.completed,
        "names": list(names),
        "ranges": [[-far, far] for far in reaches],
        "result": result,
        "seed": trace.seed,
    }
    try:
        text, _ = with_variables(trace.completed, names)
        name = digest(repr((text, names, reaches, result, trace.seed)))
        last, samples = st.session_state.get(_LAST, ("", None))
        samples = samples if last == name else _samples.get(name)
        if samples is not None:
            return name, samples
        submit = partial(sandbox.submit_sample, **request, timeout=limits.SAMPLE_SECONDS)
        samples = sandbox_call.ask(_SLOT, name, submit, label="")
        if samples is not None:
            st.session_state[_LAST] = name, samples
            if len(samples.axes[0]) >= COUNTS[len(names)][-1]:
                _samples.put(name, samples)
    except (ProgramRefused, ValueError):
        return "", None
    return name, samples


def _kept_picture(name: str, samples: Samples) -> str:
    """The contours of these samples, drawn once for a theme."""
    theme = "dark" if st.context.theme.type == "dark" else "light"
    key = f"{name} {len(samples.axes[0])} {theme}"
    return _pictures.get_or_make(key, lambda: contours_picture(samples, theme))
