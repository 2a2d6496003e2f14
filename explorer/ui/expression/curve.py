"""The result of a program around the values of its inputs: a curve with its tangent, or contours
with the arrow of the gradient."""

from __future__ import annotations

import base64
import io
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from explorer import sandbox
from explorer.program import ProgramRefused
from explorer.trace import TensorRecord, Trace
from explorer.trace.colours import SURFACE
from explorer.trace.render_dot import digest
from explorer.trace.sampling import COUNTS, Samples, with_variables
from explorer.ui.common import sandbox_call
from explorer.ui.common.inputs import leaf_of, reach, read_inputs
from explorer.ui.common.plot import Axis, Blank, Line, Place, Plot, around, draw_plots
from explorer.ui.common.shared_cache import SharedCache
from explorer.ui.expression.program import ProgramRun

_SLOT, _LAST = "curve", "curve.last"
#: How high the curve and the contours are, in CSS pixels.
_CURVE, _CONTOURS = 230, 300
#: The samples whose values may lie outside of the picture, at both ends together.
_OUTSIDE = 0.06
#: Between these contours can be drawn, if the values differ by this share.
_SMALLEST, _LARGEST, _APART = 1e-300, 1e300, 1e-12

#: What all readers share, by the name of the request: samples that no lack of time made coarse,
#: and contours, of which one takes longer to draw than the rest of the page.
_samples: SharedCache[Samples] = SharedCache(8 * 2**20)
_pictures: SharedCache[str] = SharedCache(8 * 2**20)


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
            cell = _curve(samples, place, result.name)
        else:
            cell = _contours(samples, _kept_picture(name, samples), place, result.name)
    draw_plots({"curve": (cell, height)}, "", key="curve")


def result_of(trace: Trace) -> TensorRecord | None:
    """The named scalar that the only backward started from, with the gradient 1, if its name still
    has that value at the end."""
    if trace.error or trace.pass_count != 1 or not trace.passes[0].steps:
        return None
    shown = trace.passes[0]
    roots = [t for t in trace.tensors if t.name == shown.root and t.named]
    start = shown.steps[0]
    made = {node.tensor for node in shown.nodes if node.id == start.node}
    is_slope = roots and roots[-1].id in made and [_scalar(g) for g in start.grads_in] == [1.0]
    return roots[-1] if is_slope and not roots[-1].shape else None


def result_place(trace: Trace, result: TensorRecord) -> Place:
    """Where the result is, and its gradient there."""
    leaves = [leaf_of(trace, name) for name in trace.inputs]
    gradients = tuple(_scalar(leaf.grad if leaf else None) for leaf in leaves)
    values = tuple(float(value) for value in trace.inputs.values() if not isinstance(value, list))
    return Place(tuple(trace.inputs), values, gradients, _scalar(result.value))


def _scalar(array: object) -> float | None:
    """A finite number, as JSON has it."""
    is_number = isinstance(array, np.ndarray) and array.size == 1
    value = float(array.item()) if is_number and isinstance(array, np.ndarray) else np.nan
    return value if np.isfinite(value) else None


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
        submit = partial(sandbox.submit_sample, **request, timeout=4.0)
        samples = sandbox_call.ask(_SLOT, name, submit, label="")
        if samples is not None:
            st.session_state[_LAST] = name, samples
            if len(samples.axes[0]) >= COUNTS[len(names)][-1]:
                _samples.put(name, samples)
    except (ProgramRefused, ValueError):
        return "", None
    return name, samples


def _curve(samples: Samples, place: Place, result: str) -> Plot:
    (x,), y = samples.axes, samples.values
    known = np.sort(y[np.isfinite(y)])
    cut = int(_OUTSIDE / 2 * len(known))
    middle = known[cut : len(known) - cut].tolist()
    now = [] if place.result is None else [place.result]
    shown = known.tolist() if known[-1] - known[0] < 8 * (middle[-1] - middle[0]) else middle
    name = place.names[0]
    return Plot(
        Axis(name, float(x[0]), float(x[-1])),
        around([*shown, *now], result, linear=True),
        (Line(x, y),),
        f"{result} over {name}, with the tangent at the value of {name}. Dragging moves {name}",
        wide=True,
        place=place,
    )


def _contours(samples: Samples, picture: str, place: Place, result: str) -> Plot:
    x, y = samples.axes
    first, second = place.names
    return Plot(
        Axis(first, float(x[0]), float(x[-1])),
        Axis(second, float(y[0]), float(y[-1])),
        (),
        f"Contours of {result} over {first} and {second} (darker = lower), with the arrow of the "
        f"gradient. Dragging moves {first} and {second}",
        image=picture,
        wide=True,
        place=place,
    )


def _kept_picture(name: str, samples: Samples) -> str:
    """The contours of these samples, drawn once for a theme."""
    theme = "dark" if st.context.theme.type == "dark" else "light"
    key = f"{name} {len(samples.axes[0])} {theme}"
    return _pictures.get_or_make(key, lambda: _picture(samples, theme))


def _picture(samples: Samples, theme: str) -> str:
    """Contours without axes, as a data URL; in the colours of the loss on the Optimizer page."""
    x, y = samples.axes
    values = np.ma.masked_invalid(samples.values.T)
    low, high = np.quantile(values.compressed(), [_OUTSIDE / 2, 1 - _OUTSIDE / 2])
    within = max(-low, high)
    if not _SMALLEST < within < _LARGEST or high - low < _APART * within:
        values, low, high = np.ma.clip(values, -1.0, 1.0), -1.0, 1.0
    figure = Figure(figsize=(5, 3), dpi=100, frameon=False)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    levels = np.linspace(low, high, 19)
    palette, line = (np.array(SURFACE[theme][key]) / 255 for key in ("palette", "contour"))
    colours = LinearSegmentedColormap.from_list("lower is darker", palette)
    axes.contourf(x, y, values, levels=levels, cmap=colours, extend="both")
    axes.contour(x, y, values, levels=levels, colors=[line], linewidths=0.5)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
